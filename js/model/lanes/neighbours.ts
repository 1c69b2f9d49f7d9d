/** Stepping from event to event with the keyboard. */

import { firstAbove, firstAtLeast } from "../lod/bisect";
import type { Drawn, Row } from "../types";
import type { Arrangement, LaneItem } from "./layout";

/** The event that starts next (`direction` 1) or before (-1) event `id` among the rows of its lane; null at the end. */
export function nextInLane(
  rows: readonly Row[],
  id: number,
  direction: 1 | -1,
  { start, merged }: Pick<Drawn, "start" | "merged">,
): number | null {
  let next: number | null = null;
  // Ids are given by start, so the nearest id is the nearest start; not where entries come from several blocks.
  const rank = (candidate: number) => (merged ? start[candidate] : candidate);
  for (const row of rows) {
    const sorted = merged ? row.start : row.ids;
    let index = direction === 1 ? firstAbove(sorted, rank(id)) : firstAtLeast(sorted, rank(id)) - 1;
    // A merged entry begins before the longest of its events.
    if (row.ids[index] === id) index += direction;
    if (index < 0 || index >= row.ids.length) continue;
    const candidate = row.ids[index];
    if (next === null || (rank(candidate) - rank(next)) * direction < 0) next = candidate;
  }
  return next;
}

/**
 * The event nearest to `time` (ns) in the lane below (`direction` 1) or above
 * (-1) the lane of event `id`; null when there is no such lane or its own is not shown.
 */
export function verticalNeighbour(
  arrangement: Arrangement,
  id: number,
  time: number,
  direction: 1 | -1,
  drawn: Drawn,
): number | null {
  const lanes = arrangement.items.filter((item): item is LaneItem => item.type === "lane");
  const here = lanes.findIndex((item) => item.lane === drawn.lane[id]);
  const lane = here < 0 ? undefined : lanes[here + direction];
  if (lane === undefined) return null;
  let nearest: number | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const row of lane.rows) {
    const after = firstAtLeast(row.end, time);
    for (const index of [after - 1, after]) {
      if (index < 0 || index >= row.ids.length) continue;
      const distance = Math.max(row.start[index] - time, time - row.end[index], 0);
      if (distance < least) {
        least = distance;
        nearest = row.ids[index];
      }
    }
  }
  return nearest;
}
