/** Times of the axis as the date and the time of day, on demand. */

import { formatTime } from "../model/format/units";
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

/** Clocks that were set show later times than this; others count from when their machine started, or from 1970. */
const FIRST_DATE_NS = 946_684_800n * 1_000_000_000n;

/** Whether times count from 1970 as those of a clock that was set do, so that they have a date. */
export const hasDate = (epochNs: bigint) => epochNs > FIRST_DATE_NS;

/** A time with the digits that `resolutionNs` allows: "2026-03-01 14:05:06.030805". */
export function formatWallClock(epochNs: bigint, resolutionNs: number): string {
  const second = epochNs / 1_000_000_000n;
  const date = new Date(Number(second) * 1000);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
  const decimals = Math.min(Math.max(Math.ceil(9 - Math.log10(Math.max(resolutionNs, 1)) - 1e-9), 0), 9);
  const rest = String(epochNs % 1_000_000_000n)
    .padStart(9, "0")
    .slice(0, decimals);
  return `${day} ${time}${rest && `.${rest}`}`;
}
