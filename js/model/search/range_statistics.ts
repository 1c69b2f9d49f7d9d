/** Figures of the events in a selected range of time. Times in ns. */

import { firstAbove } from "../lod/bisect";
import type { Drawn } from "../types";
import type { CounterFigures } from "../wire/counters";
import { stepsOfLanes } from "./busy_time";

/** A range of time on some lanes (ids) and one step (its number, not its index); null means all. */
export interface RangeSelection {
  start: number;
  end: number;
  lanes: number[] | null;
  step: number | null;
}

export interface StatisticsRow {
  label: string;
  /** Category of all its events: an op on the host and the kernel that it launched are never added up. */
  category: number;
  count: number;
  /** Time in the range during which at least one of them ran; of aligned steps that of each, added up. */
  busy: number;
  /** Summed durations, including what lies outside of the range. */
  total: number;
  mean: number;
  min: number;
  max: number;
  /** Event id of the longest. */
  longest: number;
}

export interface RangeStatistics {
  /** By `busy`, largest first. */
  rows: StatisticsRow[];
  count: number;
  /** Time in the range during which at least one of the events ran. */
  busy: number;
  total: number;
  /** For each counter track, where the kernel has them. */
  counters?: readonly (CounterFigures | null)[];
}

/** The ids of the events that overlap the range, or lie in it when they have no length; by start. */
export function eventsIn(drawn: Drawn, selection: RangeSelection): Uint32Array {
  const { start, duration, lane } = drawn;
  const { start: from, end: to } = selection;
  const wanted = laneMask(drawn, selection.lanes);
  const step = selection.step === null ? null : drawn.steps.findIndex((each) => each.step === selection.step);
  if (step === -1) return new Uint32Array(0);
  // The ids of aligned steps are in the order of the run, not of their starts.
  const ids = new Uint32Array(drawn.isAligned ? drawn.count : firstAbove(start, to));
  let count = 0;
  for (let id = 0; id < ids.length; id++) {
    const s = start[id];
    const e = s + duration[id];
    const overlaps = e > s ? e > from && s < to : s >= from;
    if (!overlaps || wanted[lane[id]] === 0) continue;
    if (step !== null && drawn.step !== null && drawn.step[id] !== step) continue;
    ids[count++] = id;
  }
  const found = ids.slice(0, count);
  return drawn.isAligned ? found.sort((a, b) => start[a] - start[b]) : found;
}

/** Count, sums and extremes of the events of `eventsIn`, by op type or by name, each category apart. */
export function rangeStatistics(drawn: Drawn, selection: RangeSelection, by: "op" | "name"): RangeStatistics {
  const { start, duration, category } = drawn;
  const { start: from, end: to } = selection;
  const ids = eventsIn(drawn, selection);
  const key = by === "op" ? drawn.op : drawn.name;
  const rows: StatisticsRow[] = [];
  const categories = drawn.categories.length;
  const labels = by === "op" ? drawn.ops.length : drawn.names.length;
  const rowOf = new Int32Array(labels * categories).fill(-1);
  const stepOf = stepsOfLanes(drawn);
  // For each row, and in it for each aligned step, until when it was busy.
  const reachedOf: number[][] = [];
  let busy = 0;
  let total = 0;
  let reached = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i];
    const length = duration[id];
    const left = Math.max(start[id], from);
    const right = Math.min(start[id] + length, to);
    // Ids come by start, so a union needs only the latest end so far.
    if (right > reached) {
      busy += right - Math.max(left, reached);
      reached = right;
    }
    total += length;
    const slot = key[id] * categories + category[id];
    let index = rowOf[slot];
    if (index < 0) {
      const label = by === "op" ? drawn.ops[key[id]] : drawn.names.get(key[id]);
      index = rows.push(newRow(label, id, category[id], length)) - 1;
      rowOf[slot] = index;
      reachedOf.push([]);
    }
    const row = rows[index];
    row.count++;
    row.total += length;
    const own = reachedOf[index];
    const at = stepOf[drawn.lane[id]];
    const until = own[at] ?? Number.NEGATIVE_INFINITY;
    if (right > until) {
      row.busy += right - Math.max(left, until);
      own[at] = right;
    }
    if (length < row.min) row.min = length;
    if (length > row.max) {
      row.max = length;
      row.longest = id;
    }
  }
  for (const row of rows) row.mean = row.total / row.count;
  rows.sort((a, b) => b.busy - a.busy || b.total - a.total);
  return { rows, count: ids.length, busy, total };
}

function newRow(label: string, longest: number, category: number, length: number): StatisticsRow {
  return { label, category, count: 0, busy: 0, total: 0, mean: 0, min: length, max: length, longest };
}

function laneMask(drawn: Drawn, lanes: readonly number[] | null): Uint8Array {
  const mask = new Uint8Array(drawn.lanes.length).fill(lanes === null ? 1 : 0);
  for (const lane of lanes ?? []) mask[lane] = 1;
  return mask.fill(0, 0, drawn.leftOut ?? 0);
}
