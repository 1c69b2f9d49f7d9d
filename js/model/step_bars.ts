/** The steps as bars: how long each took, which are slow. */
import type { Drawn, Step } from "./drawn";

export interface StepBar {
  /** Places in the list of steps that this bar stands for: one, or a few where there are more steps than room. */
  first: number;
  last: number;
  /** The longest of them (place in the list). */
  longest: number;
  /** Its length, 0 to 1, where 1 is the longest step's, or `HIGHEST` medians when that is less. */
  height: number;
  /** Whether it took more than `SLOW` times the median. */
  isSlow: boolean;
}

export interface StepBars {
  bars: StepBar[];
  /** Median duration of a step (ns). */
  median: number;
  /** Place in the list of the step that took longest. */
  slowest: number;
}

/** A step that takes this many times the median stands out. */
export const SLOW = 1.3;

/** Higher than so many medians no bar is drawn: one stray step would flatten the differences of all others. */
export const HIGHEST = 2;

/** What people call a step. */
export function stepName(step: Step): string {
  if (step.step < 0) return "Outside steps";
  return step.label ? `Step ${step.step} · ${step.label}` : `Step ${step.step}`;
}

/**
 * At most `most` bars for the steps, each as high as the longest step it stands for. What belongs to no step has
 * no bar. There is at least one step.
 */
export function stepBars(all: readonly Step[], most: number): StepBars {
  // Steps are in the order of their numbers, so that only the first can be the one without.
  const skipped = all[0].step < 0 && all.length > 1 ? 1 : 0;
  const steps = all.slice(skipped);
  const durations = steps.map((step) => step.end - step.start);
  const sorted = [...durations].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const median = sorted.length % 2 ? sorted[half] : ((sorted[half - 1] ?? 0) + (sorted[half] ?? 0)) / 2;
  const slowest = durations.reduce((best, duration, place) => (duration > durations[best] ? place : best), 0);
  const full = Math.min(durations[slowest], median > 0 ? HIGHEST * median : Number.POSITIVE_INFINITY);
  const size = Math.max(1, Math.ceil(steps.length / Math.max(most, 1)));
  const bars: StepBar[] = [];
  for (let first = 0; first < steps.length; first += size) {
    const last = Math.min(first + size, steps.length) - 1;
    let longest = first;
    for (let place = first; place <= last; place++)
      if (durations[place] > durations[longest]) longest = place;
    bars.push({
      first: first + skipped,
      last: last + skipped,
      longest: longest + skipped,
      height: full > 0 ? Math.min(durations[longest] / full, 1) : 0,
      isSlow: durations[longest] > SLOW * median,
    });
  }
  return { bars, median, slowest: slowest + skipped };
}

/** Steps of one recording mostly follow each other; when nearly all of the axis would be gaps, one step is shown. */
const SPARSE = 0.25;

/** Whether steps are so far apart that they cannot be looked at together. */
export function isSparse({ steps, span }: Pick<Drawn, "steps" | "span">): boolean {
  const busy = steps.reduce((sum, step) => sum + step.end - step.start, 0);
  return steps.length > 1 && busy < SPARSE * span;
}
