/** The bars as pixels, which the CPU fills. */

import { FULL_LEVEL } from "../../model/paint/raster";
import type { Tokens } from "../../ui/theme";
import { dashColour, dashLengths } from "./predicted";
import type { Mark, Sheet } from "./sheet";
import { abgr, type Surface } from "./surface";

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
