/** Figures of the events in a selected range of time. Times in ns. */

import { kindIn } from "../lanes/event_text";
import { laneLabel } from "../lanes/labels";
import { overlaps } from "../lanes/shown_with";
import { firstAbove } from "../lod/bisect";
import { type Drawn, NO_STEP } from "../types";
import type { CounterFigures } from "../wire/schema";
import { stepsOfLanes } from "./busy_time";

/** A range of time on some lanes (ids) and one step (its number, not its index); null means all. */
export interface RangeSelection {
  start: number;
  end: number;
  lanes: number[] | null;
  step: number | null;
}

export type By = "op" | "name" | "lane" | "layer" | "line";

export interface StatisticsRow {
  label: string;
  /** Category of the longest event; all have its kind: an op and the kernel that it launched are never added up. */
  category: number;
  count: number;
  /** Time in the range during which at least one of them ran; of aligned steps that of each, added up. */
  busy: number;
  /** Summed durations, including what lies outside of the range. */
  total: number;
  /** Their self time in the range; null if unknown. See `self_times` in analysis/events/nesting.py. */
  self: number | null;
  mean: number;
  min: number;
  p50: number;
  p99: number;
  max: number;
  /** A histogram of their durations from `min` to `max`. */
  bins: number[];
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
    if (!overlaps(s, s + duration[id], from, to) || wanted[lane[id]] === 0) continue;
    // Events outside steps are shown with the step: see `shownWith`.
    const own = step === null ? null : drawn.step?.[id];
    if (own != null && own !== step && drawn.steps[own].step !== NO_STEP) continue;
    ids[count++] = id;
  }
  const found = ids.slice(0, count);
  return drawn.isAligned ? found.sort((a, b) => start[a] - start[b]) : found;
}

/** The layer of an event, or its line of the user's own code, such as "model.py:12"; "" without one, null if unknown. */
export type OriginOf = (id: number, by: By) => string | null;

/** The groupings of the events of a range. */
export function labelOf(drawn: Drawn, id: number, by: By, originOf: OriginOf): string | null {
  if (by === "op") return drawn.ops[drawn.op[id]];
  if (by === "name") return drawn.names.get(drawn.name[id]);
  return by === "lane" ? laneLabel(drawn.lanes[drawn.lane[id]]) : originOf(id, by);
}

/** Count, sums, quantiles and extremes of the events of `eventsIn`, each kind apart. */
export function rangeStatistics(
  drawn: Drawn,
  selection: RangeSelection,
  by: By,
  originOf: OriginOf = () => "",
): RangeStatistics {
  const { start, duration, category } = drawn;
  const { start: from, end: to } = selection;
  const ids = eventsIn(drawn, selection);
  longestFirst(drawn, ids);
  const own = selfTimes(drawn, ids, from, to);
  const kinds = drawn.categories.map(kindIn);
  const kindOf = kinds.map((kind) => kinds.indexOf(kind));
  const rows: StatisticsRow[] = [];
  const rowOf = new Map<string | number, number>();
  const stepOf = stepsOfLanes(drawn);
  // For each row, and in it for each aligned step, until when it was busy.
  const reachedOf: number[][] = [];
  const lengthsOf: number[][] = [];
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
    const kind = kindOf[category[id]];
    const isKnown = by !== "line" && by !== "layer";
    const slot = isKnown ? drawn[by][id] * kinds.length + kind : `${kind} ${originOf(id, by)}`;
    let index = rowOf.get(slot);
    if (index === undefined) {
      index = rows.push(newRow(labelOf(drawn, id, by, originOf) ?? "", id, category[id], length)) - 1;
      rowOf.set(slot, index);
      reachedOf.push([]);
      lengthsOf.push([]);
    }
    const row = rows[index];
    row.count++;
    row.total += length;
    if (!Number.isNaN(own[i])) row.self = (row.self ?? 0) + own[i];
    lengthsOf[index].push(length);
    const until = reachedOf[index];
    const at = stepOf[drawn.lane[id]];
    const before = until[at] ?? Number.NEGATIVE_INFINITY;
    if (right > before) {
      row.busy += right - Math.max(left, before);
      until[at] = right;
    }
    if (length < row.min) row.min = length;
    if (length > row.max) {
      row.max = length;
      row.longest = id;
      row.category = category[id];
    }
  }
  rows.forEach((row, index) => {
    const lengths = Float64Array.from(lengthsOf[index]).sort();
    row.mean = row.total / row.count;
    row.p50 = percentile(lengths, 50);
    row.p99 = percentile(lengths, 99);
    for (const length of lengths) row.bins[binOf(row, length)]++;
  });
  rows.sort((a, b) => b.busy - a.busy || b.total - a.total);
  return { rows, count: ids.length, busy, total };
}

/** Among events with equal starts the longest comes first: it encloses the others. */
function longestFirst({ start, duration }: Drawn, ids: Uint32Array): void {
  for (let at = 0, next = 1; at < ids.length; at = next++) {
    while (next < ids.length && start[ids[next]] === start[ids[at]]) next++;
    if (next - at > 1) ids.subarray(at, next).sort((a, b) => duration[b] - duration[a] || a - b);
  }
}

/** Executor ops and streams run side by side: see `nests` in analysis/events/nesting.py. */
const SIDE_BY_SIDE = /^((ops|collective|recv|sync)$|stream:|mem(cpy|set)\b)/;

const PART_OF_OP =
  /^(Eager(KernelExecute|CopyToDevice)|KernelAndDevice(Func|Op)::Run|ValidateInputTypeAndPlacement|ParallelFor\w*|convert_to_tensor|TFE_DeleteTensorHandle)$/;
const CALLS = /^((Stateful)?PartitionedCall|RemoteCall|(Stateless)?(If|While|Case)|SymbolicGradient)$/;

/** The self time of each event in a range, without that of the events nested in it on its lane; NaN if unknown. */
function selfTimes(drawn: Drawn, ids: Uint32Array, from: number, to: number) {
  const { start, duration, lane, lanes, ops, op, category } = drawn;
  const own = new Float64Array(ids.length);
  const covered = new Float64Array(ids.length);
  /** The index of the event around each one, or -1. */
  const around = new Int32Array(ids.length).fill(-1);
  const kinds = drawn.categories.map(kindIn);
  const [calls, partsOfOps] = [CALLS, PART_OF_OP].map((pattern) => ops.map((each) => pattern.test(each)));
  const is = (index: number, kind: string, named?: readonly boolean[]) =>
    kinds[category[ids[index]]] === kind && (!named || named[op[ids[index]]]);
  const nests = lanes.map((each) => each.kind === "host" || !SIDE_BY_SIDE.test(each.lane));
  /** For each lane the indexes of the events that enclose the next one, the innermost last. */
  const open: number[][] = lanes.map(() => []);
  const end = (index: number) => start[ids[index]] + duration[ids[index]];
  for (let i = 0; i < ids.length; i++) {
    const left = Math.max(start[ids[i]], from);
    const right = Math.min(end(i), to);
    own[i] += Math.max(right - left, 0);
    if (!nests[lane[ids[i]]]) {
      if (is(i, "op", calls)) own[i] = Number.NaN;
      continue;
    }
    const stack = open[lane[ids[i]]];
    while (stack.length && end(stack[stack.length - 1]) < end(i)) stack.pop();
    const outer = stack[stack.length - 1];
    if (outer !== undefined) {
      own[outer] -= Math.max(right - Math.max(left, covered[outer]), 0);
      covered[outer] = Math.max(covered[outer], right);
      around[i] = outer;
    }
    covered[i] = left;
    stack.push(i);
  }
  const wraps = (index: number) => is(index, "host", partsOfOps);
  for (let i = 0; i < ids.length; i++) {
    let at = around[i];
    if (at < 0 || !wraps(i)) continue;
    while (at >= 0 && wraps(at)) at = around[at];
    if (at < 0 || !is(at, "op")) continue;
    own[at] += own[i];
    own[i] = 0;
  }
  return own;
}

/** The nearest-rank percentile of some sorted lengths, as in `op_statistics`. */
function percentile(lengths: Float64Array, percent: number): number {
  return lengths[Math.ceil((lengths.length * percent) / 100) - 1];
}

const BINS = 24;

/** The bar of a row's histogram that a duration is in. */
export function binOf({ min, max }: StatisticsRow, length: number): number {
  return Math.min(Math.floor(((length - min) * BINS) / Math.max(max - min, 1)), BINS - 1);
}

function newRow(label: string, longest: number, category: number, length: number): StatisticsRow {
  const sums = { count: 0, busy: 0, total: 0, self: null, mean: 0, p50: 0, p99: 0 };
  return { ...sums, label, category, longest, min: length, max: length, bins: new Array(BINS).fill(0) };
}

function laneMask(drawn: Drawn, lanes: readonly number[] | null): Uint8Array {
  const mask = new Uint8Array(drawn.lanes.length).fill(lanes === null ? 1 : 0);
  for (const lane of lanes ?? []) mask[lane] = 1;
  return mask.fill(0, 0, drawn.leftOut ?? 0);
}
