/** A lane as one row: the times at which any of its events runs. */

import type { Drawn, Row } from "../types";

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
 * One row in place of all of a lane's, ordered by start, in pieces that do not overlap and together are as long as the
 * lane is busy: the part of each event that no earlier event covers, if there is one. With `drawn`, the parts that wait
 * are covered by all that move.
 */
export function foldRows(rows: readonly Row[], drawn?: Drawn): Row {
  if (rows.length === 1) return rows[0];
  if (!drawn?.wait) return uncovered(rows);
  const moving = uncovered(rows.map((row) => partOf(row, drawn, true)));
  const waiting = uncovered(rows.map((row) => partOf(row, drawn, false)));
  return { ...laidOver(moving, waiting), isCut: true };
}

/** Start and end of the time in which the data of an event moves (ns); before and after, it waits. */
export function moveOf({ start, duration, wait, tail }: Drawn, id: number): readonly [number, number] {
  const end = start[id] + duration[id] - (tail?.[id] ?? 0);
  return [end - duration[id] + (wait?.[id] ?? 0), end];
}

/** A row of the parts that no earlier piece covers. */
function uncovered(rows: readonly Row[]): Row {
  const pieces = new Pieces(rows.reduce((sum, row) => sum + row.ids.length, 0));
  const next = new Uint32Array(rows.length);
  const queue = new Queue(rows, next);
  let reached = Number.NEGATIVE_INFINITY;
  for (let place = queue.first(); place >= 0; place = queue.first()) {
    const row = rows[place];
    const at = next[place]++;
    queue.advance();
    const from = Math.max(row.start[at], reached);
    const isInstant = row.end[at] === row.start[at];
    if (row.end[at] < from || (row.end[at] === from && !isInstant)) continue;
    reached = row.end[at];
    pieces.add(row, at, from, reached);
  }
  return pieces.row(rows[0]);
}

/** Where events move data, or their waits; entries for several events wait for nothing. */
function partOf(row: Row, drawn: Drawn, isMoving: boolean): Row {
  const pieces = new Pieces(2 * row.ids.length);
  for (let at = 0; at < row.ids.length; at++) {
    const [start, end] = [row.start[at], row.end[at]];
    const isWhole = (row.merged && row.merged.count[at] !== 1) || start === end;
    const [from, to] = isWhole ? [start, end] : moveOf(drawn, row.ids[at]);
    if (isMoving) {
      if (isWhole || from < to) pieces.add(row, at, from, to);
    } else {
      if (start < from) pieces.add(row, at, start, from);
      if (to < end) pieces.add(row, at, to, end);
    }
  }
  return pieces.row(row);
}

/** The pieces of `top`, and between them the uncovered parts of `below`. */
function laidOver(top: Row, below: Row): Row {
  const pieces = new Pieces(2 * top.ids.length + below.ids.length);
  let at = 0;
  let reached = Number.NEGATIVE_INFINITY;
  const fill = (until: number) => {
    for (; at < below.ids.length && below.start[at] < until; at++) {
      const from = Math.max(below.start[at], reached);
      const to = Math.min(below.end[at], until);
      if (to > from) pieces.add(below, at, from, to);
      if (below.end[at] > until) return;
    }
  };
  for (let over = 0; over < top.ids.length; over++) {
    fill(top.start[over]);
    pieces.add(top, over, top.start[over], top.end[over]);
    reached = top.end[over];
  }
  fill(Number.POSITIVE_INFINITY);
  return pieces.row(top);
}

/** Pieces of events, in order. */
class Pieces {
  readonly #ids: Uint32Array;
  readonly #start: Float64Array;
  readonly #end: Float64Array;
  readonly #busy: Float64Array;
  readonly #peak: Float64Array;
  readonly #count: Uint32Array;
  #length = 0;

  constructor(most: number) {
    this.#ids = new Uint32Array(most);
    this.#count = new Uint32Array(most);
    [this.#start, this.#end, this.#busy, this.#peak] = Array.from(
      { length: 4 },
      () => new Float64Array(most),
    );
  }

  /** Add what entry `at` of a row does from `from` to `to`. */
  add({ ids, start, end, merged }: Row, at: number, from: number, to: number): void {
    const last = this.#length - 1;
    // A wait and what follows it are one bar again.
    const goesOn = last >= 0 && this.#ids[last] === ids[at] && this.#end[last] === from && to > from;
    const place = goesOn ? last : this.#length++;
    this.#ids[place] = ids[at];
    if (!goesOn) this.#start[place] = from;
    this.#end[place] = to;
    if (!merged) return;
    const share = end[at] === start[at] ? 1 : (to - from) / (end[at] - start[at]);
    this.#busy[place] += merged.busy[at] * share;
    this.#peak[place] = Math.min(merged.peak[at], to - this.#start[place]);
    this.#count[place] = merged.count[at];
  }

  row({ lane, merged }: Row): Row {
    const part = <T extends Float64Array | Uint32Array>(column: T) => column.subarray(0, this.#length) as T;
    return {
      lane,
      index: 0,
      ids: part(this.#ids),
      start: part(this.#start),
      end: part(this.#end),
      ...(merged && {
        merged: { busy: part(this.#busy), peak: part(this.#peak), count: part(this.#count) },
      }),
    };
  }
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
