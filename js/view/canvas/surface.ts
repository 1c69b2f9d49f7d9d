/** The drawing surface: a canvas with the size of its box in device pixels, or a part of an SVG. */

import { SvgPath, SvgPen } from "./svg_pen";

export interface Surface {
  readonly context: CanvasRenderingContext2D;
  /** Its size is that in device pixels. */
  readonly element: Pick<HTMLCanvasElement, "width" | "height">;
  /** CSS pixels. */
  width: number;
  height: number;
  /** Device pixels per CSS pixel. */
  ratio: number;
}

export interface CanvasSurface extends Surface {
  readonly element: HTMLCanvasElement;
}

/** The pen of an SVG as a 2D context for the drawing code. */
export const asContext = (pen: SvgPen) => pen as unknown as CanvasRenderingContext2D;

/** The pen of an SVG, null if a surface is a canvas. */
export function svgPen({ context }: Pick<Surface, "context">): SvgPen | null {
  const pen: unknown = context;
  return pen instanceof SvgPen ? pen : null;
}

/** A path to fill or stroke on a surface. */
export function makePath(surface: Surface): Path2D {
  return svgPen(surface) ? (new SvgPath() as unknown as Path2D) : new Path2D();
}

/** A style of a square tile, in CSS pixels, that `draw` draws. */
export function tiled(
  context: CanvasRenderingContext2D,
  size: number,
  draw: (pen: CanvasRenderingContext2D) => void,
): CanvasPattern | string {
  const svg = svgPen({ context });
  if (svg) return svg.pattern(size, (pen) => draw(asContext(pen)));
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  draw(tile.getContext("2d")!);
  return context.createPattern(tile, "repeat")!;
}

/**
 * Canvases here are drawn by the CPU: without a GPU an "accelerated" canvas costs seconds a frame, and with
 * one the upload of a finished picture is cheap. willReadFrequently makes Chromium do so.
 */
export function makeSurface(parent: HTMLElement, opaque: boolean): CanvasSurface {
  const element = document.createElement("canvas");
  element.setAttribute("aria-hidden", "true");
  parent.append(element);
  const context = element.getContext("2d", { alpha: !opaque, willReadFrequently: true });
  if (!context) throw new Error("this browser has no 2D canvas");
  return { context, element, width: 0, height: 0, ratio: 1 };
}

/** Fit `surface` to a size in CSS pixels; setting a canvas's size clears it, so only when it differs. */
export function fitSurface(
  surface: CanvasSurface,
  width: number,
  height: number,
  ratio: number = window.devicePixelRatio || 1,
): void {
  const pixels = {
    width: Math.max(1, Math.round(width * ratio)),
    height: Math.max(1, Math.round(height * ratio)),
  };
  const { element } = surface;
  if (element.width !== pixels.width || element.height !== pixels.height) {
    element.width = pixels.width;
    element.height = pixels.height;
    element.style.width = `${width}px`;
    element.style.height = `${height}px`;
  }
  surface.width = width;
  surface.height = height;
  surface.ratio = ratio;
  surface.context.setTransform(ratio, 0, 0, ratio, 0, 0);
}

/** "#rrggbb" as the little-endian ABGR word that ImageData holds. */
export function abgr(hex: string): number {
  const value = Number.parseInt(hex.slice(1, 7), 16);
  return (0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}
