/** Paints the pixels of a row: in each column the busy part from the base line up, the rest faint. */

import { FULL_LEVEL } from "../../model/paint/raster";

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
