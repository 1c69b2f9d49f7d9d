/** Packs the buffers of an allocator into rows of bars, so that none is drawn over another; large ones are tall. */

import { firstAbove } from "../lod/bisect";
import type { Row } from "../types";
import type { Viewport } from "../viewport";
import type { Track } from "../wire/memory";

/** A row of bars as high as `height`, `top` below the upper edge of its lane (CSS px). */
export interface TensorRow {
  row: Row;
  top: number;
  height: number;
}

export interface TensorRows {
  rows: TensorRow[];
  /** Height of all rows, with the room around them (CSS px). */
  height: number;
  /** How many buffers have a bar, and how many smaller ones are left out. */
  shown: number;
  leftOut: number;
}

/**
 * Buffers of at least so large a part of the peak are so high, in this many rows at most. Large ones, of
 * which 32 can
 * be alive at once, all have a row.
 */
const TIERS = [
  { share: 1 / 32, height: 15, most: Number.POSITIVE_INFINITY },
  { share: 1 / 512, height: 8, most: 24 },
  { share: 0, height: 4, most: 24 },
];
/** If there are more buffers, only the largest are packed. */
export const MAX_BARS = 50_000;
const PAD = 3;
const GAP = 2;

const EVER: Viewport = { start: Number.NEGATIVE_INFINITY, end: Number.POSITIVE_INFINITY };

const packed = new WeakMap<Track, { range: Viewport; rows: TensorRows }>();

/** The rows of the bars of an allocator that lie in a range; packed when they are first shown. */
export function tensorRows(track: Track, range: Viewport = EVER): TensorRows {
  const known = packed.get(track);
  if (known && known.range.start === range.start && known.range.end === range.end) return known.rows;
  const rows = packTensors(track, range);
  packed.set(track, { range, rows });
  return rows;
}

export function packTensors(track: Track, range: Viewport = EVER): TensorRows {
  const { sizes, starts, lengths, unit, peak } = track;
  const isInRange = (at: number) => starts[at] <= range.end && starts[at] + lengths[at] * unit >= range.start;
  const bySize = Uint32Array.from(sizes, (_, at) => at)
    .filter(isInRange)
    .sort((a, b) => sizes[b] - sizes[a] || a - b);
  const packed: TensorRows = { rows: [], height: PAD, shown: 0, leftOut: track.unsent };
  let from = 0;
  for (const { share, height, most } of TIERS) {
    let to = from;
    while (to < Math.min(bySize.length, MAX_BARS) && sizes[bySize[to]] >= share * peak) to++;
    const tier = bySize.slice(from, to);
    // By start they take the fewest rows; where those do not suffice, the largest come first.
    if (most === Number.POSITIVE_INFINITY) tier.sort();
    const rows: OpenRow[] = [];
    for (const at of tier) if (place(rows, track, at, most)) packed.shown++;
    for (const { ids, starts, ends } of rows) {
      const row = { lane: -1, index: packed.rows.length, ids: Uint32Array.from(ids) };
      const [start, end] = [Float64Array.from(starts), Float64Array.from(ends)];
      packed.rows.push({ row: { ...row, start, end }, top: packed.height, height });
      packed.height += height + GAP;
    }
    from = to;
  }
  packed.leftOut += bySize.length - packed.shown;
  packed.height += PAD;
  return packed;
}

/** The bars of a row by start. */
interface OpenRow {
  ids: number[];
  starts: number[];
  ends: number[];
}

/** Put a buffer into the first row that is free while it is alive; false where that would be one row too many. */
function place(rows: OpenRow[], { starts, lengths, unit }: Track, at: number, most: number): boolean {
  const start = starts[at];
  const end = start + lengths[at] * unit;
  for (const row of rows) {
    const next = firstAbove(row.starts, start);
    // Two buffers without length at the same time have a row each.
    const isFree =
      (next === 0 || row.ends[next - 1] <= start) &&
      row.starts[next - 1] !== start &&
      (next === row.ids.length || end <= row.starts[next]);
    if (!isFree) continue;
    row.ids.splice(next, 0, at);
    row.starts.splice(next, 0, start);
    row.ends.splice(next, 0, end);
    return true;
  }
  if (rows.length >= most) return false;
  rows.push({ ids: [at], starts: [start], ends: [end] });
  return true;
}
