/** The steps as bars: how long each took, how much of that a device was busy, which stand out. */

import thresholds from "../../../tfvis_nb/core/thresholds.json";
import { isolated } from "../format/bidi";
import { eventCount } from "../lod/merged";
import { type Drawn, type Lane, NO_STEP, type Step } from "../types";
import type { Viewport } from "../viewport";

export interface StepBar {
  /** Indexes of the steps that this bar stands for: one, or a few if there are more steps than pixels. */
  first: number;
  last: number;
  /** The one of them to describe (index in the list): the slowest of its kind, or the busiest if only that stands out. */
  described: number;
  /** The length of the longest, 0 to 1, where 1 is the longest step's; see `LINEAR_RATIO`. */
  height: number;
  /** Whether any took at least `SLOW_RATIO` times the median of its kind. */
  isSlow: boolean;
  /** The most that a device was busy in any of them, by the same measure as `height`. */
  busy: number;
  /** Whether a device was busy in any of them for at least `SLOW_RATIO` times the median of that. */
  isBusy: boolean;
}

export interface StepBars {
  bars: StepBar[];
  /**
   * Duration of each step in the list / that of the median step of its kind, as in the analyses: of an even number of
   * steps the shorter of the two in the middle, without a first step that `isFirstApart`. 0 if the median is 0.
   */
  ratios: number[];
  /** How long a device was busy in each step / the median of its kind, likewise; 0 when nothing is known of devices. */
  busyRatios: number[];
  /** Index in the list of the step that took most medians of its kind, except a first step that `isFirstApart`. */
  slowest: number;
  /** Whether the first step has one-time work: it takes at least `SLOW_RATIO` times the median of the others. */
  isFirstApart: boolean;
}

/** A step that takes at least this many times the median stands out; the analyses go by the same number. */
export const SLOW_RATIO = thresholds.slow_step_ratio;

/**
 * If a step takes more than this many medians, heights above the median, at half of the room, are logarithmic: a stray
 * step would flatten the differences of all others.
 */
export const LINEAR_RATIO = 2;

/** What people call a step. */
export function stepName(step: Step): string {
  if (step.step === NO_STEP) return "Outside steps";
  return step.label ? `Step ${step.step} · ${isolated(step.label)}` : `Step ${step.step}`;
}

/** How many steps there are, without what belongs to none. */
export function countSteps(steps: readonly Step[]): number {
  return steps.filter((step) => step.step !== NO_STEP).length;
}

/** The time of a run outside its steps (ns): those may overlap. */
export function timeOutside({ steps, span }: Pick<Drawn, "steps" | "span">): number {
  const inOrder = steps.filter((step) => step.step !== NO_STEP).sort((a, b) => a.start - b.start);
  let reached = 0;
  let outside = 0;
  for (const { start, end } of inOrder) {
    outside += Math.max(start - reached, 0);
    reached = Math.max(reached, end);
  }
  return outside + Math.max(span - reached, 0);
}

/** The length of a step; of the time outside steps, its sum. */
export function stepLength(run: Drawn, step: Step): number {
  return step.step === NO_STEP ? timeOutside(run) : step.end - step.start;
}

interface Shown {
  run: Drawn;
  step: number | null;
  aligned: object | null;
  whole: Viewport;
}

/** The length shown: of a step (its index), or of the axis. */
export function lengthShown({ run, step, whole }: Shown): number {
  return step === null ? whole.end - whole.start : stepLength(run, run.steps[step]);
}

/** The number of events shown: with a step (its index), with all steps aligned, or of the run. */
export function eventsShown({ run, step, aligned }: Omit<Shown, "whole">): number {
  if (step !== null) return run.steps[step].events;
  const outside = run.steps.find((each) => each.step === NO_STEP);
  return eventCount(run) - ((aligned && outside?.events) || 0);
}

const ACCELERATOR = /(?:^|\/device:)(?!(?:XLA_)?CPU:)([A-Z_]+):\d+$/;

/** The name of the time a device was busy: "GPU busy", "busiest GPU" of several, "busiest device" of several types. */
export function busyLabel(lanes: readonly Lane[]): string {
  const types = new Map(
    lanes.map(({ task, device }) => [`${task} ${device}`, ACCELERATOR.exec(device)?.[1]] as const),
  );
  const known = [...types.values()].filter((type) => type !== undefined);
  const noun = new Set(known).size === 1 ? known[0] : "device";
  return known.length > 1 ? `busiest ${noun}` : `${noun} busy`;
}

/**
 * At most `most` bars for the steps, each as high as the longest step it stands for. Events outside any step
 * have no bar. There is at least one step.
 */
export function stepBars(all: readonly Step[], most: number): StepBars {
  // Steps are in the order of their numbers, so that only the first can be the one without.
  const skipped = all[0].step === NO_STEP && all.length > 1 ? 1 : 0;
  const steps = all.slice(skipped);
  const durations = steps.map((step) => step.end - step.start);
  const busy = steps.map((step) => step.device ?? 0);
  const kinds = steps.map((step) => step.kind ?? 0);
  const alike = (values: number[], kind: number, from: number) =>
    values.filter((_, index) => index >= from && kinds[index] === kind);
  const others = alike(durations, kinds[0], 1);
  const isFirstApart = others.length > 1 && durations[0] >= SLOW_RATIO * Math.max(medianOf(others), 1);
  const apart = +isFirstApart;
  const [medians, busyMedians] = [durations, busy].map((values) =>
    [...new Set(kinds)].map((kind) => medianOf(alike(values, kind, apart)) || Number.POSITIVE_INFINITY),
  );
  const ratios = durations.map((ns, index) => ns / medians[kinds[index]]);
  const busyRatios = busy.map((ns, index) => ns / busyMedians[kinds[index]]);
  const full = durations[largest(durations, 0, steps.length - 1)];
  const median = Math.max(...medians);
  const part = (ns: number) => {
    if (full <= LINEAR_RATIO * median) return full > 0 ? ns / full : 0;
    return ns <= median ? ns / median / 2 : (1 + Math.log(ns / median) / Math.log(full / median)) / 2;
  };
  const size = Math.max(1, Math.ceil(steps.length / Math.max(most, 1)));
  const bars: StepBar[] = [];
  for (let first = 0; first < steps.length; first += size) {
    const last = Math.min(first + size, steps.length) - 1;
    const longest = largest(ratios, first, last);
    const busiest = largest(busyRatios, first, last);
    const isSlow = ratios[longest] >= SLOW_RATIO;
    const isBusy = busyRatios[busiest] >= SLOW_RATIO;
    bars.push({
      first: first + skipped,
      last: last + skipped,
      described: (isBusy && !isSlow ? busiest : longest) + skipped,
      height: part(durations[largest(durations, first, last)]),
      isSlow,
      busy: part(busy[largest(busy, first, last)]),
      isBusy,
    });
  }
  const slowest = largest(ratios, apart, steps.length - 1) + skipped;
  // Events outside steps have no ratio.
  if (skipped) for (const each of [ratios, busyRatios]) each.unshift(0);
  return { bars, ratios, busyRatios, slowest, isFirstApart };
}

/** The lower median, which is one of the values. There is at least one. */
function medianOf(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[(values.length - 1) >> 1];
}

/** Place of the first largest of the values from `first` to `last`. */
function largest(values: readonly number[], first: number, last: number): number {
  let best = first;
  for (let index = first; index <= last; index++) if (values[index] > values[best]) best = index;
  return best;
}

/** When nearly all of the axis would be gaps between a few steps, the first one is shown. */
const SPARSE = 0.25;
/** More steps are shown together, however far apart they are: one of them may be an exception. */
const MOST_SPARSE = 4;

/** Whether there are a few steps so far apart that they cannot be looked at together. */
export function isSparse({ steps, span }: Pick<Drawn, "steps" | "span">): boolean {
  const busy = steps.reduce((sum, step) => sum + step.end - step.start, 0);
  return steps.length > 1 && steps.length <= MOST_SPARSE && busy < SPARSE * span;
}
