/** The bars as the rectangles of an SVG: columns of the same colour and height are one. */

import { FULL_LEVEL } from "../../model/paint/raster";
import type { Tokens } from "../../ui/theme";
import { dashColour, dashLengths } from "./predicted";
import type { Mark, Sheet } from "./sheet";
import type { Surface } from "./surface";
import { SvgPath, type SvgPen } from "./svg_pen";

export class SvgSheet implements Sheet {
  constructor(
    readonly pen: SvgPen,
    readonly surface: Surface,
  ) {}

  begin({ width, height, ratio }: Surface, ground: string, marks: readonly Mark[]): void {
    this.#fill(ground, 0, 0, width, height);
    for (const { x, colour } of marks)
      this.#fill(colour, Math.round(x * ratio) / ratio, 0, 1 / ratio, height);
  }

  strip(top: number, bottom: number, colour: string): void {
    this.#fill(colour, 0, top, this.surface.width, bottom - top);
  }

  row(codes: Uint16Array, top: number, height: number, colours: Uint32Array): void {
    const paths = new Map<number, SvgPath>();
    const add = (colour: number, from: number, to: number, tall: number) => {
      const path = paths.get(colour) ?? new SvgPath();
      paths.set(colour, path);
      const { ratio } = this.surface;
      path.rect(from / ratio, top + height - tall, (to - from) / ratio, tall);
    };
    // A faint bar behind all bars that are not full.
    eachRun(
      codes,
      (code) => (code >> 8 < FULL_LEVEL ? code & 255 : null),
      (from, to, paint) => {
        if (codes[from]) add(colours[256 + paint], from, to, height);
      },
    );
    eachRun(
      codes,
      (code) => code,
      (from, to, code) => {
        if (code) add(colours[code & 255], from, to, (height * (code >> 8)) / FULL_LEVEL);
      },
    );
    for (const [colour, path] of paths) {
      this.pen.fillStyle = hexOf(colour);
      this.pen.fill(path);
    }
  }

  rule(top: number, colour: string): void {
    this.#fill(colour, 0, top, this.surface.width, 1 / this.surface.ratio);
  }

  dashes(top: number, tokens: Tokens): void {
    const [on, off] = dashLengths(1);
    for (let x = 0; x < this.surface.width; x += on + off)
      this.#fill(dashColour(tokens), x, top, on, 1 / this.surface.ratio);
  }

  end(): void {}

  #fill(colour: string, x: number, y: number, width: number, height: number): void {
    this.pen.fillStyle = colour;
    this.pen.fillRect(x, y, width, height);
  }
}

/** Call `visit` for each stretch of columns whose codes have the same `key`; null is none. */
function eachRun(
  codes: Uint16Array,
  key: (code: number) => number | null,
  visit: (from: number, to: number, key: number) => void,
): void {
  for (let from = 0, to = 0; from < codes.length; from = to) {
    const own = key(codes[from]);
    for (to = from + 1; to < codes.length && !codes[to] === !codes[from] && key(codes[to]) === own; ) to++;
    if (own !== null) visit(from, to, own);
  }
}

/** The word that ImageData holds as "#rrggbb". */
function hexOf(abgr: number): string {
  const bytes = [abgr & 255, (abgr >> 8) & 255, (abgr >> 16) & 255];
  return `#${bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
