/** Stepping from event to event with the keyboard. */
import type { Arrangement, LaneItem } from "./arrangement";
import { firstAbove, firstAtLeast } from "./bisect";
import type { Drawn } from "./drawn";
import type { Row } from "./rows";

/** The event that starts next (`direction` 1) or before (-1) event `id` among the rows of its lane; null at the end. */
export function nextInLane(rows: Row | readonly Row[], id: number, direction: 1 | -1): number | null {
  let next: number | null = null;
  for (const { ids } of "ids" in rows ? [rows] : rows) {
    // Ids are given by start, so the nearest id is the nearest start.
    const place = direction === 1 ? firstAbove(ids, id) : firstAtLeast(ids, id) - 1;
    if (place < 0 || place >= ids.length) continue;
    const candidate = ids[place];
    if (next === null || (direction === 1 ? candidate < next : candidate > next)) next = candidate;
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
    for (const place of [after - 1, after]) {
      if (place < 0 || place >= row.ids.length) continue;
      const distance = Math.max(row.start[place] - time, time - row.end[place], 0);
      if (distance < least) {
        least = distance;
        nearest = row.ids[place];
      }
    }
  }
  return nearest;
}
