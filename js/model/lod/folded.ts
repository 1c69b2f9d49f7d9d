/** A lane as one row: the times at which any of its events runs. */

import type { Row } from "../types";

/** A lane with more rows starts folded, and so does a track of own bars. */
export const MOST_ROWS = 12;
/** It also starts folded if its further rows have a smaller share of its events, or its rows are emptier. */
const FEW_FURTHER = 0.01;
const SPARSE = 0.01;

/** Whether a lane is shown as one row until the user unfolds it; `span` is the time shown (ns). */
export function beginsFolded(rows: readonly Row[], span: number): boolean {
  if (rows.length < 2) return false;
  if (rows.length > MOST_ROWS) return true;
  const events = rows.reduce((sum, row) => sum + row.ids.length, 0);
  if (events - rows[0].ids.length <= FEW_FURTHER * events) return true;
  return rows.reduce((sum, row) => sum + busyTime(row), 0) <= SPARSE * span * rows.length;
}

/** How long anything of a row runs (ns). */
export function busyTime({ start, end, merged }: Row): number {
  let sum = 0;
  for (let at = 0; at < end.length; at++) sum += merged ? merged.busy[at] : end[at] - start[at];
  return sum;
}

/**
 * One row in place of all of a lane's, ordered by start: of each event what no event before it covers, so that the
 * pieces do not overlap and together are as long as the lane is busy. An event that is covered whole has no piece.
 */
export function foldRows(rows: readonly Row[]): Row {
  if (rows.length === 1) return rows[0];
  const [{ lane, merged }] = rows;
  const length = rows.reduce((sum, row) => sum + row.ids.length, 0);
  const ids = new Uint32Array(length);
  const start = new Float64Array(length);
  const end = new Float64Array(length);
  const busy = new Float64Array(length);
  const peak = new Float64Array(length);
  const count = new Uint32Array(length);
  const next = new Uint32Array(rows.length);
  const queue = new Queue(rows, next);
  let pieces = 0;
  let reached = Number.NEGATIVE_INFINITY;
  for (let place = queue.first(); place >= 0; place = queue.first()) {
    const row = rows[place];
    const at = next[place]++;
    queue.advance();
    const from = Math.max(row.start[at], reached);
    const isInstant = row.end[at] === row.start[at];
    if (row.end[at] < from || (row.end[at] === from && !isInstant)) continue;
    ids[pieces] = row.ids[at];
    start[pieces] = from;
    end[pieces] = reached = row.end[at];
    if (row.merged) {
      const share = isInstant ? 1 : (row.end[at] - from) / (row.end[at] - row.start[at]);
      busy[pieces] = row.merged.busy[at] * share;
      peak[pieces] = Math.min(row.merged.peak[at], row.end[at] - from);
      count[pieces] = row.merged.count[at];
    }
    pieces++;
  }
  const part = <T extends Float64Array | Uint32Array>(column: T) => column.subarray(0, pieces) as T;
  return {
    lane,
    index: 0,
    ids: part(ids),
    start: part(start),
    end: part(end),
    ...(merged && { merged: { busy: part(busy), peak: part(peak), count: part(count) } }),
  };
}

/** Finds the row with the next event; of equal starts, the upper row. A heap of indexes. */
class Queue {
  readonly #heap: number[] = [];

  constructor(
    readonly rows: readonly Row[],
    /** How many events of each row are taken. */
    readonly next: Uint32Array,
  ) {
    for (let place = 0; place < rows.length; place++) if (rows[place].ids.length) this.#heap.push(place);
    for (let at = this.#heap.length >> 1; at >= 0; at--) this.#sink(at);
  }

  /** The row with the next event; -1 when none is left. */
  first(): number {
    return this.#heap[0] ?? -1;
  }

  /** Take up that the first row has given an event. */
  advance(): void {
    const heap = this.#heap;
    const place = heap[0];
    if (this.next[place] === this.rows[place].ids.length) {
      const last = heap.pop() as number;
      if (heap.length === 0) return;
      heap[0] = last;
    }
    this.#sink(0);
  }

  #isBefore(one: number, other: number): boolean {
    const difference = this.rows[one].start[this.next[one]] - this.rows[other].start[this.next[other]];
    return difference < 0 || (difference === 0 && one < other);
  }

  #sink(from: number): void {
    const heap = this.#heap;
    for (let at = from; ; ) {
      let least = 2 * at + 1;
      if (least >= heap.length) return;
      if (least + 1 < heap.length && this.#isBefore(heap[least + 1], heap[least])) least++;
      if (this.#isBefore(heap[at], heap[least])) return;
      [heap[at], heap[least]] = [heap[least], heap[at]];
      at = least;
    }
  }
}
