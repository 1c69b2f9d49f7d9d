/** The target of a picture: a canvas for a PNG, or an SVG. */

import { asContext, fitSurface, makeSurface, type Surface } from "./surface";
import { escaped, SvgPen } from "./svg_pen";

/** Where other chunks of a PNG may follow, and pHYs with RATIO * 96 pixels an inch; browsers write none. */
const HEADER = 33;
const PHYS = [0, 0, 0, 9, 112, 72, 89, 115, 0, 0, 29, 135, 0, 0, 29, 135, 1, 143, 229, 241, 101];
const withResolution = (png: Blob) =>
  new Blob([png.slice(0, HEADER), Uint8Array.from(PHYS), png.slice(HEADER)], { type: png.type });

/** Pixels of a PNG, and columns of bars in an SVG, for each CSS pixel on every screen. */
const RATIO = 2;

export interface Paper {
  pen: CanvasRenderingContext2D;
  /** Set the size (CSS px), which resets the pen. */
  begin(width: number, height: number): void;
  /** Draw a part of the picture at (x, y), as on a canvas of its own. */
  layer(x: number, y: number, width: number, height: number, draw: (surface: Surface) => void): void;
  end(title: string): Promise<Blob>;
}

export function pngPaper(): Paper {
  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d");
  if (!pen) throw new Error("this browser has no 2D canvas");
  return {
    pen,
    begin(width, height) {
      canvas.width = Math.round(width * RATIO);
      canvas.height = Math.round(height * RATIO);
      pen.setTransform(RATIO, 0, 0, RATIO, 0, 0);
    },
    layer(x, y, width, height, draw) {
      const surface = makeSurface(document.createElement("div"), false);
      fitSurface(surface, width, height, RATIO);
      draw(surface);
      pen.drawImage(surface.element, x, y, width, height);
    },
    end: () =>
      new Promise((resolve, reject) => {
        canvas.toBlob(
          (blob) => (blob ? resolve(withResolution(blob)) : reject(new Error("the picture is too large"))),
          "image/png",
        );
      }),
  };
}

export function svgPaper(): Paper {
  const pen = new SvgPen();
  let size = "";
  return {
    pen: asContext(pen),
    begin(width, height) {
      size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
    },
    layer(x, y, width, height, draw) {
      const element = { width: Math.round(width * RATIO), height: Math.round(height * RATIO) };
      pen.layer(x, y, width, height, (own) =>
        draw({ context: asContext(own), element, width, height, ratio: RATIO }),
      );
    },
    async end(title) {
      const root = `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">`;
      const text = `${root}<title>${escaped(title)}</title>${pen.text}</svg>\n`;
      return new Blob([text], { type: "image/svg+xml" });
    },
  };
}
