/** Bars of each task for the step shown, or for all steps of the run; none for aligned steps. */

import type { StepBar } from "../model/wire/schema";
import type { Store } from "./store";

export function stepBarsShown({ details, stepNumber, aligned }: Store): readonly StepBar[] {
  if (!details || aligned) return [];
  return stepNumber === null ? (details.overview?.bars ?? []) : details.stepBars(stepNumber);
}
