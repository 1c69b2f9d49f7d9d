/** The order of the columns that Python sends: by lane, and within a lane by event, as neighbours there are alike. */
import type { WireColumn } from "./columns";

/** The row of each event in the columns; `lane` has the lane of each event. */
export function wireRows(lane: Uint16Array, lanes: number): Uint32Array {
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

/** Origin and unit of a lane's times, in nanoseconds. */
export interface LaneClock {
  /** Start of the lane's first event, from the origin. */
  first: number;
  /** Common divisor of all distances to it and all durations of the lane. */
  unit: number;
}

/**
 * Starts and durations by event, in nanoseconds. `gap` and `duration` come in
 * the units of their lanes, a gap from the end of the event before in the lane.
 */
export function wireTimes(
  clocks: readonly LaneClock[],
  lane: Uint16Array | Uint32Array,
  rows: Uint32Array,
  gap: Uint32Array | Float64Array,
  duration: Uint32Array | Float64Array,
): { start: Float64Array; duration: Float64Array } {
  const start = new Float64Array(rows.length);
  const lengths = new Float64Array(rows.length);
  const ends = new Float64Array(clocks.length);
  for (let event = 0; event < rows.length; event++) {
    const row = rows[event];
    const id = lane[event];
    const begin = ends[id] + signed(gap, row);
    ends[id] = begin + duration[row];
    start[event] = clocks[id].first + begin * clocks[id].unit;
    lengths[event] = duration[row] * clocks[id].unit;
  }
  return { start, duration: lengths };
}
