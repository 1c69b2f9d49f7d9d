/** What each task did in what is shown: the step, or the median step of the run; nothing of aligned steps. */

import type { StepBar } from "../model/wire/overview";
import type { Store } from "./store";

export function stepBarsShown({ details, stepNumber, aligned }: Store): StepBar[] {
  if (!details || aligned) return [];
  return stepNumber === null ? (details.overview?.bars ?? []) : details.stepBars(stepNumber);
}
