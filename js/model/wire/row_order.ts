/** The order of the columns that Python sends: by lane, and within a lane by event, as neighbours there are alike. */
import type { WireColumn } from "./columns";
import type { SlotTimes } from "./schema";

/** The row of each event in the columns; `lane` has the lane of each event. */
export function wireRows(lane: Uint16Array | Uint32Array, lanes: number): Uint32Array {
  const next = new Uint32Array(lanes + 1);
  for (let event = 0; event < lane.length; event++) next[lane[event] + 1]++;
  for (let id = 0; id < lanes; id++) next[id + 1] += next[id];
  const rows = new Uint32Array(lane.length);
  for (let event = 0; event < lane.length; event++) rows[event] = next[lane[event]]++;
  return rows;
}

/** The same column by event. */
export function byEvent<T extends WireColumn>(column: T, rows: Uint32Array): T {
  const out = new (column.constructor as new (length: number) => T)(column.length);
  for (let event = 0; event < rows.length; event++) out[event] = column[rows[event]];
  return out;
}

/** A whole number of either sign: uint32 columns hold 0, -1, 1, -2 as 0, 1, 2, 3, float64 ones the number itself. */
export function signed(column: Uint32Array | Float64Array, at: number): number {
  const value = column[at];
  if (column instanceof Float64Array) return value;
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

/** A whole number or null: uint32 columns hold 0 for null and else one more than `signed`, float64 ones NaN. */
export function optional(column: Uint32Array | Float64Array, at: number): number | null {
  const value = column[at];
  if (column instanceof Float64Array) return Number.isNaN(value) ? null : value;
  if (value === 0) return null;
  return value % 2 === 1 ? (value - 1) / 2 : -value / 2;
}

/**
 * Starts and lengths of bars, in nanoseconds. `gap` and `extent` come in
 * the units of their slots, a gap from the end of the bar before in the slot.
 */
export function wireTimes(
  { first, unit }: SlotTimes,
  slot: Uint16Array | Uint32Array,
  rows: Uint32Array,
  gap: Uint32Array | Float64Array,
  extent: Uint32Array | Float64Array,
): { start: Float64Array; extent: Float64Array } {
  const start = new Float64Array(rows.length);
  const lengths = new Float64Array(rows.length);
  const ends = new Float64Array(first.length);
  for (let bar = 0; bar < rows.length; bar++) {
    const row = rows[bar];
    const own = slot[bar];
    const begin = ends[own] + signed(gap, row);
    ends[own] = begin + extent[row];
    start[bar] = first[own] + begin * unit[own];
    lengths[bar] = extent[row] * unit[own];
  }
  return { start, extent: lengths };
}
