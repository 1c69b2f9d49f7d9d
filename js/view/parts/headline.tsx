/** The sentence under the toolbar that sums the trace up; where the details are closed, more of what they begin with. */

import type { Actions } from "../../input/actions";
import { unbroken } from "../../model/format/units";
import { stepBarsShown } from "../../state/step_bars_shown";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { StepBars } from "../../ui/overview_card";
import { hasTabs } from "../sizes";

const NBSP = "\u00a0";

/** It has its line from the start: lanes that move when it comes slip away under the pointer. */
function awaitsIt({ details, detailsError, run }: Store): boolean {
  return details === null && detailsError === null && run.merged?.followed !== false;
}

export function Headline({ store, actions }: { store: Store; actions: Actions }) {
  useTopics(store, ["details", "panel", "layout"]);
  const overview = store.details?.overview;
  if (!overview?.headline) return awaitsIt(store) ? <div class="headline-bar">{NBSP}</div> : null;
  const scope = store.step === null && !store.aligned ? "" : "Whole run: ";
  // Open details have the rest, and so have the tabs under a timeline.
  const isAlone = !store.panelOpen && !hasTabs(store.host);
  const [first] = isAlone ? overview.findings.items : [];
  return (
    <div class="headline-bar">
      <span title={overview.headline}>
        {scope}
        {unbroken(overview.headline)}
      </span>
      {first && (
        <>
          <button
            type="button"
            title={`${first.title}\nShow the findings`}
            onClick={() => actions.showOverview()}
          >
            {first.title} <span aria-hidden="true">›</span>
          </button>
          <small title={first.advice}>{unbroken(first.advice)}</small>
        </>
      )}
      {isAlone && <StepBars bars={stepBarsShown(store)} />}
    </div>
  );
}
