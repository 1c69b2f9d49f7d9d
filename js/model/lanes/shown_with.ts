/** The events shown with a step. */

import { type Drawn, NO_STEP } from "../types";

/** Whether a time overlaps a range, or lies in it when it has no length. */
export function overlaps(start: number, end: number, from: number, to: number): boolean {
  return end > start ? end > from && start < to : start >= from && start <= to;
}

/**
 * Tests whether an entry is shown with a step (its index; null for all): those of the step, and those outside steps that
 * run during it, such as the input pipeline. The view of the step would otherwise lack the cause of its waits.
 */
export function shownWith(drawn: Drawn, step: number | null): (id: number) => boolean {
  const { leftOut = 0, lane, merged, start, duration, step: stepOf, steps } = drawn;
  if (step === null) return (id) => lane[id] >= leftOut;
  const endOf = (id: number) => (merged ? merged.end[id] : start[id] + duration[id]);
  const starts = merged ? merged.start : start;
  return (id) => {
    const own = stepOf ? stepOf[id] : 0;
    if (own === step) return true;
    return steps[own].step === NO_STEP && overlaps(starts[id], endOf(id), steps[step].start, steps[step].end);
  };
}
