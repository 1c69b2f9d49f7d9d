/** Times of the axis as the date and the time of day, on demand. */

import { formatTime } from "../model/format/units";
import { formatWallClock, hasDate } from "../model/format/wall_clock";
import type { Store } from "./store";

/** Why no date can be shown; empty if it can. */
export function whyNoDate({ drawn, aligned }: Store): string {
  if (aligned) return "Aligned steps start at different times of day";
  return hasDate(drawn.originNs) ? "" : "The trace does not record the date";
}

/** A time as displayed: since the origin, or by the wall clock. */
export function timeText(store: Store, ns: number, resolutionNs: number): string {
  return store.isWallClock && !whyNoDate(store)
    ? formatWallClock(store.drawn.originNs + BigInt(Math.floor(ns)), resolutionNs)
    : formatTime(ns, resolutionNs);
}
