/** How far the clocks of several tasks may differ, in words. Nanoseconds, infinite if unknown. */

import { isolated } from "../format/bidi";
import { type TimeUnit, timeUnit } from "../format/units";
import type { Clock, Lane } from "../types";
import { type Viewport, xAt } from "../viewport";
import { taskLabel } from "./labels";

/** An interval whose ends are at most this many times as far from 0 as one another is written as ±. */
const SYMMETRIC_RATIO = 1.5;
/** A band of fewer px would only make the cursor look thick. */
const MIN_BAND_PX = 2;

/** An interval as the wire has it: null is unbounded, and the first task is the one that others are compared with. */
export interface WireClock {
  task: string;
  low: number | null;
  high: number | null;
}

/** Give lanes the clock of their task, where it is known and not exact. */
export function withClocks(lanes: Lane[], bounds: readonly WireClock[]): Lane[] {
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

/** The interval in a few words, rounded to a wider one: "±0.42 ms", "−0.1 … +0.9 ms", "at most 20 ms early", "unknown". */
export function clockText({ low, high }: Clock): string {
  if (isUnknown(low, high)) return "unknown";
  if (high === Infinity) return low > 0 ? `at least ${distance(low, false)} late` : atMost(low, "early");
  if (low === -Infinity) return high < 0 ? `at least ${distance(high, true)} early` : atMost(high, "late");
  const [near, far] = [Math.min(-low, high), Math.max(-low, high)];
  const unit = timeUnit(Math.max(Math.abs(low), Math.abs(high)));
  if (far <= SYMMETRIC_RATIO * near) return `±${bound(far, true, unit).slice(1)} ${unit.name}`;
  // A much smaller end would be all zeros in the unit of the other.
  const unitOf = (end: number) => (end === 0 || Math.abs(end) >= unit.ns / 100 ? unit : timeUnit(end));
  const first = `${bound(low, false, unitOf(low))}${unitOf(low) === unitOf(high) ? "" : ` ${unitOf(low).name}`}`;
  return `${first} … ${bound(high, true, unitOf(high))} ${unitOf(high).name}`;
}

/** "clock offset ±0.42 ms", "clock at most 20 ms early", "clock unknown". */
export function clockLabel(clock: Clock): string {
  return `clock ${Number.isFinite(clock.high - clock.low) ? "offset " : ""}${clockText(clock)}`;
}

/** Short form: "±3.4 ms" even if the interval is asymmetric, "clock ?" if it is unbounded. */
export function shortClockText(clock: Clock): string {
  const far = Math.max(-clock.low, clock.high);
  return far === Infinity ? "clock ?" : clockText({ ...clock, low: -far, high: far });
}

function atMost(ns: number, what: "early" | "late"): string {
  return ns === 0 ? `not ${what}` : `at most ${distance(ns, ns > 0)} ${what}`;
}

function isUnknown(low: number, high: number): boolean {
  return low === -Infinity && high === Infinity;
}

/** A bound with its sign, rounded up or down to two digits. */
function bound(ns: number, up: boolean, unit: TimeUnit): string {
  if (ns === 0) return "0";
  const value = ns / unit.ns;
  const places = 1 - Math.floor(Math.log10(Math.abs(value)));
  const scaled = value * 10 ** places;
  const rounded = (up ? Math.ceil(scaled - 1e-9) : Math.floor(scaled + 1e-9)) / 10 ** places;
  return `${rounded < 0 ? "−" : "+"}${Number(Math.abs(rounded).toFixed(Math.max(places, 0)))}`;
}

/** How far a bound is from 0, rounded as it is in a label. */
function distance(ns: number, up: boolean): string {
  const unit = timeUnit(ns);
  return `${bound(ns, up, unit).slice(1)} ${unit.name}`;
}

/** The same in plain sentences. */
export function clockSentence({ task, low, high, against }: Clock): string {
  const [own, other] = [task, against].map((name) => isolated(taskLabel(name) || "localhost"));
  if (isUnknown(low, high))
    return (
      `The trace does not bound the clock difference between ${own} and ${other}. ` +
      "Compare times within these lanes, but not with other tasks."
    );
  if (!Number.isFinite(high - low))
    return (
      `Relative to ${other}, times of these lanes are ${clockText({ task, low, high, against })}. ` +
      `How ${high === Infinity ? "late" : "early"} they may be is unknown.`
    );
  const parts = [
    low < 0 && `up to ${distance(low, false)} early`,
    high > 0 && `up to ${distance(high, true)} late`,
  ];
  const range = parts.filter(Boolean).join(" or ");
  return `Times of these lanes may be ${range} relative to ${other} (the band at the cursor).`;
}
