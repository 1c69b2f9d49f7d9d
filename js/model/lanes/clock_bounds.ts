/** How far the clocks of several tasks may differ, in words. Nanoseconds, infinite if unknown. */

import { isolated } from "../format/bidi";
import { timeUnit } from "../format/units";
import type { Clock, Lane } from "../types";
import { type Viewport, xAt } from "../viewport";
import type { ClockBounds } from "../wire/schema";
import { taskLabel } from "./labels";

/** A band of fewer px would only make the cursor look thick. */
const MIN_BAND_PX = 2;

/** Give lanes the clock error of their task, if known and not exact. */
export function withClocks(lanes: Lane[], bounds: readonly ClockBounds[]): Lane[] {
  const clocks = new Map<string, Clock>();
  for (const { task, low, high } of bounds.slice(1)) {
    const clock = { task, low: low ?? -Infinity, high: high ?? Infinity, against: bounds[0].task };
    if (clock.high > clock.low) clocks.set(task, clock);
  }
  if (clocks.size === 0) return lanes;
  return lanes.map((lane) => {
    const clock = clocks.get(lane.task);
    return clock ? { ...lane, clock } : lane;
  });
}

/** The one clock of all these lanes, or null. */
export function commonClock(lanes: readonly Lane[]): Clock | null {
  const clock = lanes[0]?.clock;
  return clock && lanes.every((lane) => lane.clock === clock) ? clock : null;
}

/**
 * The range in CSS px where an event shown at `time` may be by the reference clock; null if there is nothing
 * to draw.
 */
export function clockBand(
  { low, high }: Clock,
  time: number,
  viewport: Viewport,
  width: number,
): { from: number; to: number } | null {
  // Events that are shown late happened earlier.
  const [from, to] = [time - high, time - low].map((end) => xAt(viewport, end, width));
  return Number.isFinite(to - from) && to - from >= MIN_BAND_PX ? { from, to } : null;
}

/** An interval with one bound in a few words: "at most 20 ms early". */
function bounded({ low, high }: Clock): string {
  if (high === Infinity) return low > 0 ? `at least ${distance(low, false)} late` : atMost(low, "early");
  return high < 0 ? `at least ${distance(high, true)} early` : atMost(high, "late");
}

function atMost(ns: number, what: "early" | "late"): string {
  return ns === 0 ? `not ${what}` : `at most ${distance(ns, ns > 0)} ${what}`;
}

function isUnknown(low: number, high: number): boolean {
  return low === -Infinity && high === Infinity;
}

/** How far a bound is from 0, rounded up or down to two digits. */
function distance(ns: number, up: boolean): string {
  const unit = timeUnit(ns);
  const value = Math.abs(ns) / unit.ns;
  const places = 1 - Math.floor(Math.log10(value));
  const scaled = value * 10 ** places;
  const rounded = (up === ns > 0 ? Math.ceil(scaled - 1e-9) : Math.floor(scaled + 1e-9)) / 10 ** places;
  return `${Number(rounded.toFixed(Math.max(places, 0)))} ${unit.name}`;
}

/** The interval in plain sentences. */
export function clockSentence({ task, low, high, against }: Clock): string {
  const [own, other] = [task, against].map((name) => isolated(taskLabel(name) || "localhost"));
  if (isUnknown(low, high))
    return (
      `The trace does not bound the clock difference between ${own} and ${other}. ` +
      "Compare times within these lanes, but not with other tasks."
    );
  if (!Number.isFinite(high - low))
    return (
      `Relative to ${other}, times of these lanes are ${bounded({ task, low, high, against })}. ` +
      `How ${high === Infinity ? "late" : "early"} they may be is unknown.`
    );
  const parts = [
    low < 0 && `up to ${distance(low, false)} early`,
    high > 0 && `up to ${distance(high, true)} late`,
  ];
  const range = parts.filter(Boolean).join(" or ");
  return `Times of these lanes may be ${range} relative to ${other} (the band at the cursor).`;
}
