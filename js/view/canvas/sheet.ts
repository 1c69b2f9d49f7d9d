/** The target of the bars: pixels, or an SVG. Positions are in CSS pixels. */

import { FULL_LEVEL } from "../../model/paint/raster";
import type { Tokens } from "../../ui/theme";
import { dashColour, dashLengths } from "./predicted";
import { abgr, type Surface } from "./surface";
import { SvgPath, type SvgPen } from "./svg_pen";

/** A line from top to bottom. */
export interface Mark {
  x: number;
  colour: string;
}

export interface Sheet {
  /** Draw the ground, with lines that rows without events show. */
  begin(surface: Surface, ground: string, marks: readonly Mark[]): void;
  /** Fill from side to side. */
  strip(top: number, bottom: number, colour: string): void;
  /**
   * Draw a row. `codes` has the level and paint of each column, as `rasterRow` writes them; `colours` is a
   * `colourTable`; under it is the ground, or `strip`.
   */
  row(codes: Uint16Array, top: number, height: number, colours: Uint32Array, strip?: string): void;
  /** A line from side to side, one device pixel thick. */
  rule(top: number, colour: string): void;
  /** The same dashed, where times are predicted. */
  dashes(top: number, tokens: Tokens): void;
  end(surface: Surface): void;
}

export class PixelSheet implements Sheet {
  #image: ImageData | null = null;
  #pixels = new Uint32Array(0);
  #template = new Uint32Array(0);
  #strip = new Uint32Array(0);
  #ratio = 1;
  readonly #rowPixels = new RowPixels();

  begin({ element, context, ratio }: Surface, ground: string, marks: readonly Mark[]): void {
    const { width, height } = element;
    if (this.#image?.width !== width || this.#image.height !== height) {
      this.#image = context.createImageData(width, height);
      this.#pixels = new Uint32Array(this.#image.data.buffer);
      this.#template = new Uint32Array(width);
      this.#strip = new Uint32Array(width);
    }
    this.#ratio = ratio;
    this.#template.fill(abgr(ground));
    for (const { x, colour } of marks) {
      const pixel = Math.round(x * ratio);
      if (pixel >= 0 && pixel < width) this.#template[pixel] = abgr(colour);
    }
    for (let y = 0; y < height; y++) this.#pixels.set(this.#template, y * width);
  }

  strip(top: number, bottom: number, colour: string): void {
    this.#pixels.fill(abgr(colour), this.#at(top), this.#at(bottom));
  }

  row(codes: Uint16Array, top: number, height: number, colours: Uint32Array, strip?: string): void {
    const [first, last] = [top, top + height].map((edge) => Math.round(edge * this.#ratio));
    const ground = strip === undefined ? this.#template : this.#strip.fill(abgr(strip));
    this.#rowPixels.fill(this.#pixels, first, last, codes, ground, colours);
  }

  rule(top: number, colour: string): void {
    const line = this.#at(top);
    this.#pixels.fill(abgr(colour), line, line + this.#template.length);
  }

  dashes(top: number, tokens: Tokens): void {
    const line = this.#at(top);
    const [on, off] = dashLengths(this.#ratio);
    const width = this.#template.length;
    for (let x = 0; x < width; x += on + off)
      this.#pixels.fill(abgr(dashColour(tokens)), line + x, line + Math.min(x + on, width));
  }

  end({ context }: Surface): void {
    context.putImageData(this.#image!, 0, 0);
  }

  /** The first pixel of the line at `y` CSS pixels, clamped to the picture. */
  #at(y: number): number {
    const width = this.#template.length;
    return Math.min(Math.max(Math.round(y * this.#ratio) * width, 0), this.#pixels.length);
  }
}

export class RowPixels {
  /** One line of the row, from its left edge. */
  #line = new Uint32Array(0);
  /** For each level, the first column that has it, and of each column the next one with the same level; -1 at
   * the end. */
  readonly #first = new Int32Array(FULL_LEVEL + 1);
  #next = new Int32Array(0);

  /**
   * Fill the lines from `top` to `bottom` of `pixels`, which may begin above and end below them.
   *
   * `codes` has the level and paint of each column, as `rasterRow` writes them, `ground` what lies under the row;
   * `colours` is a `colourTable`.
   */
  fill(
    pixels: Uint32Array,
    top: number,
    bottom: number,
    codes: Uint16Array,
    ground: Uint32Array,
    colours: Uint32Array,
  ): void {
    const width = ground.length;
    if (this.#line.length !== width) {
      this.#line = new Uint32Array(width);
      this.#next = new Int32Array(width);
    }
    const line = this.#line;
    const [first, next] = [this.#first.fill(-1), this.#next];
    line.set(ground);
    for (let x = 0; x < width; x++) {
      const code = codes[x];
      if (code === 0) continue;
      const level = code >> 8;
      next[x] = first[level];
      first[level] = x;
      line[x] = colours[256 + (code & 255)];
    }
    const lines = pixels.length / width;
    // Downwards: a column is solid from where its level begins.
    let y = top;
    for (let level = FULL_LEVEL; level > 0; level--) {
      for (let x = first[level]; x >= 0; x = next[x]) line[x] = colours[codes[x] & 255];
      const until = bottom - Math.round(((bottom - top) * (level - 1)) / FULL_LEVEL);
      for (; y < until; y++) if (y >= 0 && y < lines) pixels.set(line, y * width);
    }
  }
}

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
