/** Which cell each pixel of a heat map shows: the one with the largest value of those under it. */

import type { Values } from "./grid";

/** The part of the steps in view, from the first to before the last; fractions show parts of a step. */
export interface Range {
  from: number;
  to: number;
}

/** The first and the end of the indexes that fall on position `at` of `count`: one if there are as many positions. */
export function span(at: number, count: number, { from, to }: Range): [number, number] {
  const scale = (to - from) / count;
  if (scale <= 1) {
    const only = Math.floor(from + (at + 0.5) * scale);
    return [only, only + 1];
  }
  const first = Math.min(Math.floor(from + at * scale + 1e-9), to - 1);
  return [first, Math.max(Math.ceil(from + (at + 1) * scale - 1e-9), first + 1)];
}

/**
 * For each of `lines` and of `width` pixels in it, the number of the cell with the largest value there; -1 without a
 * value. Every cell in view falls on a pixel, so that none is lost.
 */
export function largestCells(
  values: Values,
  tasks: number,
  steps: number,
  range: Range,
  lines: number,
  width: number,
): Int32Array {
  const found = new Int32Array(lines * width).fill(-1);
  const firsts = new Uint32Array(width);
  const ends = new Uint32Array(width);
  for (let x = 0; x < width; x++) [firsts[x], ends[x]] = span(x, width, range);
  for (let line = 0; line < lines; line++) {
    const [first, end] = span(line, lines, { from: 0, to: tasks });
    for (let task = first; task < end; task++) {
      const row = task * steps;
      for (let x = 0; x < width; x++) {
        const at = line * width + x;
        // NaN is larger than nothing.
        let most = found[at] < 0 ? Number.NEGATIVE_INFINITY : values[found[at]];
        for (let cell = row + firsts[x]; cell < row + ends[x]; cell++) {
          if (values[cell] > most) {
            most = values[cell];
            found[at] = cell;
          }
        }
      }
    }
  }
  return found;
}
