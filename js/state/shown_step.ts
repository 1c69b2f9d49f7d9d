/** The step that is shown, and the times that can be seen of it. */

import type { Viewport } from "../model/viewport";
import { SelectionState } from "./selection_state";

export class ShownStep extends SelectionState {
  /** Its index in the list of steps; null for all of them. */
  step: number | null = null;

  /** The times the present step or the whole run spans. */
  get whole(): Viewport {
    const step = this.step === null ? null : this.drawn.steps[this.step];
    const range = step ? { start: step.start, end: step.end } : { start: 0, end: this.drawn.span };
    return range.end > range.start ? range : { start: range.start, end: range.start + 1 };
  }

  /** The times that can be viewed; the shorter of two timelines has all that the longer one has. */
  get bounds(): Viewport {
    const { start, end } = this.whole;
    const isRun = this.step === null && !this.aligned;
    return { start, end: Math.max(end, (isRun && this.host.pair?.extent) || 0) };
  }

  /** The number of the step shown, or null; `step` is its index in the list. */
  get stepNumber(): number | null {
    return this.step === null ? null : this.drawn.steps[this.step].step;
  }
}
