/** The bars as pixels, which the CPU fills. */

import type { Tokens } from "../../ui/theme";
import { dashColour, dashLengths } from "./predicted";
import { RowPixels } from "./row_pixels";
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
