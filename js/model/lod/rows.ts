/** Packs the events of a lane into rows, so that nothing is drawn over anything else. */

import { shownWith } from "../lanes/shown_with";
import type { Drawn, Row } from "../types";
/**
 * The rows of each lane (by lane id): every event goes into the first row that
 * is free at its start. Events may touch. An event without length takes up the
 * nanosecond it starts in, so that two of them at one instant are both seen.
 *
 * `step` is an index in `drawn.steps`; null takes the events of all steps.
 */
export function packLanes(drawn: Drawn, step: number | null): Row[][] {
  const { count, start, duration, lane } = drawn;
  const isShown = shownWith(drawn, step);
  const packers = drawn.lanes.map(() => new Packer());
  const rowOf = new Uint32Array(count);
  for (let id = 0; id < count; id++) {
    if (!isShown(id)) rowOf[id] = LEFT_OUT;
    else rowOf[id] = packers[lane[id]].place(start[id], start[id] + (duration[id] || 1));
  }
  // All rows share three blocks of memory: a trace can have tens of thousands of short rows.
  const ids = new Uint32Array(count);
  const starts = new Float64Array(count);
  const ends = new Float64Array(count);
  const next: Uint32Array[] = [];
  const rows: Row[][] = [];
  let place = 0;
  packers.forEach((packer, id) => {
    next.push(new Uint32Array(packer.sizes.length));
    rows.push([]);
    packer.sizes.forEach((size, index) => {
      next[id][index] = place;
      const [from, to] = [place, place + size];
      rows[id].push({
        lane: id,
        index,
        ids: ids.subarray(from, to),
        start: starts.subarray(from, to),
        end: ends.subarray(from, to),
      });
      place = to;
    });
  });
  for (let id = 0; id < count; id++) {
    if (rowOf[id] === LEFT_OUT) continue;
    const at = next[lane[id]][rowOf[id]]++;
    ids[at] = id;
    starts[at] = start[id];
    ends[at] = start[id] + duration[id];
  }
  return rows;
}

const LEFT_OUT = 0xffffffff;

/**
 * Finds the first free row in O(log rows): a tree of minima over the times at
 * which the rows become free, in which unused rows are free from the beginning.
 */
class Packer {
  /** Events in each row. */
  readonly sizes: number[] = [];
  #leaves = 1;
  #free = new Float64Array(2).fill(Number.NEGATIVE_INFINITY);

  /** The row for an event that keeps it until `until`; events must come ordered by `start`. */
  place(start: number, until: number): number {
    if (this.#free[1] > start) this.#grow();
    const free = this.#free;
    let node = 1;
    while (node < this.#leaves) {
      node *= 2;
      if (free[node] > start) node++;
    }
    const row = node - this.#leaves;
    if (row === this.sizes.length) this.sizes.push(0);
    this.sizes[row]++;
    free[node] = until;
    for (node >>= 1; node > 0; node >>= 1) free[node] = Math.min(free[2 * node], free[2 * node + 1]);
    return row;
  }

  #grow(): void {
    const grown = new Float64Array(this.#leaves * 4).fill(Number.NEGATIVE_INFINITY);
    grown.set(this.#free.subarray(this.#leaves, this.#leaves * 2), this.#leaves * 2);
    this.#leaves *= 2;
    for (let node = this.#leaves - 1; node > 0; node--) {
      grown[node] = Math.min(grown[2 * node], grown[2 * node + 1]);
    }
    this.#free = grown;
  }
}
