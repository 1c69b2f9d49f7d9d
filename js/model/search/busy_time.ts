/** How long at least one of some events runs: time in which several do is counted once. */

import type { Drawn } from "../types";

/** For each lane the index of its step, where steps are aligned; otherwise 0. */
export function stepsOfLanes({ lanes, isAligned }: Pick<Drawn, "lanes" | "isAligned">): number[] {
  const steps = isAligned ? [...new Set(lanes.map(({ task }) => task))] : [];
  return lanes.map(({ task }) => Math.max(steps.indexOf(task), 0));
}

/** In ns. `ids` come by start, of aligned steps those of each step; such steps are counted one after the other. */
export function busyTime(drawn: Drawn, ids: Iterable<number>): number {
  const { start, duration, lane } = drawn;
  const stepOf = stepsOfLanes(drawn);
  const reached = new Float64Array(Math.max(...stepOf, 0) + 1).fill(Number.NEGATIVE_INFINITY);
  let busy = 0;
  for (const id of ids) {
    const step = stepOf[lane[id]];
    const end = start[id] + duration[id];
    if (end <= reached[step]) continue;
    busy += end - Math.max(start[id], reached[step]);
    reached[step] = end;
  }
  return busy;
}
