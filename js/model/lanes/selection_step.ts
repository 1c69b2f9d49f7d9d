/** Whether a selection is still seen once another step is chosen. */

import { entryOfEvent } from "../lod/merged";
import { type Drawn, NO_STEP, type Selection } from "../types";
import { shownWith } from "./shown_with";

/**
 * Whether all that is selected (events by id) lies in a step (its index in the list), or with null in any step. A part
 * of it would be shown next to figures of all.
 */
export function liesIn(run: Drawn, selection: Selection, step: number | null): boolean {
  if ("events" in selection) {
    const isShown = shownWith(run, step);
    return selection.events.every((event) => {
      const entry = entryOfEvent(run, event);
      if (entry === null) return false;
      return step === null ? run.steps[run.step?.[entry] ?? 0].step !== NO_STEP : isShown(entry);
    });
  }
  if (step === null) return true;
  const { step: number, start, end } = run.steps[step];
  if (selection.step !== null) return selection.step === number;
  return start <= selection.start && selection.end <= end;
}
