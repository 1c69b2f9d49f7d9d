/** The colour and fill level of each pixel of a row, and the event under a pixel. */

import { firstAtLeast } from "../lod/bisect";
import type { RowLevels } from "../lod/levels";
import type { Row } from "../types";

/** A bar that spans this many pixels is drawn full, with the last one left as ground to part it from the next. */
const FULL_BAR = 3;
/** The level of a pixel that is busy all its time. */
export const FULL_LEVEL = 15;
/** The level of a pixel that is hardly busy: a lower one would be invisible. */
const LEAST_LEVEL = 2;

/**
 * Write `level * 256 + paint` for each pixel of `row` that has an event into `out[offset]` to `out[offset + width]`,
 * which the caller has filled with 0.
 *
 * `from` is the time at the left edge (ns), `paint[id]` each event's colour number. Smaller bars share pixels: such a
 * pixel takes the paint of the event that fills most of it, and as its level the busy part of its time, in fifteenths.
 * A full bar gives up its first pixel to events that begin in it.
 *
 *     events   |a||b|  |--- c ----------|      a and b share pixel 0, c is a full bar
 *     pixels   [ 0  ][ 1  ][ 2  ][ 3  ][ 4  ]
 *     drawn     a+b    c     c     ground     the last pixel of c parts it from what follows
 *
 * Entries come in order of start, so one pass with one open shared pixel is enough: it is written when an entry
 * begins behind it.
 */
export function rasterRow(
  out: Uint16Array,
  offset: number,
  width: number,
  row: Row,
  levels: RowLevels,
  from: number,
  nsPerPixel: number,
  paint: Uint8Array,
): void {
  const { start, end, busy, peak, longest, count, length } = levels.at(nsPerPixel);
  const ids = row.ids;
  // Marks of no length fill nothing, and would all but vanish.
  const least = levels.haveLengths ? LEAST_LEVEL : FULL_LEVEL;
  // The shared pixel that is being filled; -1 while there is none. Locals, not an object: this is the hottest loop.
  let pixel = -1;
  let pixelEnd = Number.NEGATIVE_INFINITY;
  let pixelBusy = 0;
  let largestFill = 0;
  let largestEntry = 0;
  let hasStart = false;
  let i = firstAtLeast(end, from);
  while (i < length && end[i] === from && start[i] < from) i++;
  for (; i < length; i++) {
    const entryStart = start[i];
    const entryEnd = end[i];
    if (entryEnd <= pixelEnd && entryStart < pixelEnd) {
      // All of it lies in the shared pixel.
      pixelBusy += busy[i];
      hasStart = true;
      if (peak[i] > largestFill) {
        largestFill = peak[i];
        largestEntry = i;
      }
      continue;
    }
    const first = Math.floor((entryStart - from) / nsPerPixel);
    if (first >= width) break;
    const last = Math.floor((entryEnd - from) / nsPerPixel);
    if (last - first >= FULL_BAR) {
      if (pixel >= 0)
        out[offset + pixel] = coverage(pixelBusy, nsPerPixel, least) + paint[ids[longest[largestEntry]]];
      const left = Math.max(first, 0);
      const right = Math.min(last - 1, width);
      // Until finer data arrives, a wide entry can stand for several events with gaps between them.
      const level = count[i] === 1 ? FULL_LEVEL * 256 : coverage(busy[i], entryEnd - entryStart, least);
      const code = level + paint[ids[longest[i]]];
      for (let at = pixel === left && hasStart ? left + 1 : left; at < right; at++) out[offset + at] = code;
      pixel = -1;
      pixelEnd = Number.NEGATIVE_INFINITY;
      continue;
    }
    const density = entryEnd > entryStart ? busy[i] / (entryEnd - entryStart) : 0;
    for (let at = Math.max(first, 0); at <= last && at < width; at++) {
      const left = from + at * nsPerPixel;
      const right = from + (at + 1) * nsPerPixel;
      const overlap = Math.max(Math.min(entryEnd, right) - Math.max(entryStart, left), 0);
      // An event without length takes part in the pixel that it starts in alone.
      if (overlap === 0 && at > first) break;
      if (at !== pixel) {
        if (pixel >= 0)
          out[offset + pixel] = coverage(pixelBusy, nsPerPixel, least) + paint[ids[longest[largestEntry]]];
        pixel = at;
        pixelEnd = right;
        pixelBusy = 0;
        largestFill = -1;
        hasStart = false;
      }
      if (at === first || count[i] > 1) hasStart = true;
      pixelBusy += overlap * density;
      const fill = Math.min(peak[i], overlap);
      if (fill > largestFill) {
        largestFill = fill;
        largestEntry = i;
      }
    }
  }
  if (pixel >= 0)
    out[offset + pixel] = coverage(pixelBusy, nsPerPixel, least) + paint[ids[longest[largestEntry]]];
}

/** The level of a pixel with `busy` of `nsPerPixel` ns filled, at least `least`, times 256. */
function coverage(busy: number, nsPerPixel: number, least: number): number {
  const level = Math.floor((busy / nsPerPixel) * FULL_LEVEL + 0.5);
  return Math.min(Math.max(level, least), FULL_LEVEL) * 256;
}

/**
 * The event at `time` (ns), and how many share the pixel around it: the bar
 * that spans the time, else the longest event within half a pixel, else the
 * nearest within `slackPixels`; null when there is none.
 */
export function hitRow(
  row: Row,
  levels: RowLevels,
  time: number,
  nsPerPixel: number,
  slackPixels: number,
): { id: number; count: number } | null {
  const { ids, start, end } = row;
  const left = time - nsPerPixel / 2;
  const right = time + nsPerPixel / 2;
  let low = firstAtLeast(end, left);
  while (low < ids.length && end[low] === left && start[low] < left) low++;
  const high = firstAtLeast(start, right);
  if (low < high) {
    const level = levels.at(nsPerPixel);
    let best = -1;
    let most = -1;
    let sharing = 0;
    for (let i = firstAtLeast(level.end, left); i < level.length && level.start[i] < right; i++) {
      sharing += level.count[i];
      const bar = level.count[i] === 1 && level.start[i] <= time && time < level.end[i];
      if (bar && level.peak[i] >= nsPerPixel) return { id: ids[level.longest[i]], count: 1 };
      if (level.peak[i] > most) {
        most = level.peak[i];
        best = level.longest[i];
      }
    }
    // The longest of merged events may lie just outside of the pixel; take its neighbour inside.
    const events = row.isCut ? new Set(ids.subarray(low, high)).size : high - low;
    const count = row.merged ? sharing : events;
    return { id: ids[Math.min(Math.max(best, low), high - 1)], count };
  }
  const before = low > 0 ? time - end[low - 1] : Number.POSITIVE_INFINITY;
  const after = high < ids.length ? start[high] - time : Number.POSITIVE_INFINITY;
  if (Math.min(before, after) > slackPixels * nsPerPixel) return null;
  const near = before <= after ? low - 1 : high;
  return { id: ids[near], count: row.merged?.count[near] ?? 1 };
}
