/** The sentence under the toolbar that sums the trace up, and the first finding where the details are closed. */

import type { Actions } from "../../input/actions";
import { unbroken } from "../../model/format/units";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { hasTabs } from "../sizes";

export function Headline({ store, actions }: { store: Store; actions: Actions }) {
  useTopics(store, ["details", "panel"]);
  const overview = store.details?.overview;
  if (!overview?.headline) return null;
  // Open details have it, and so have the tabs under a timeline.
  const [first] = store.panelOpen || hasTabs(store.host) ? [] : overview.findings.items;
  return (
    <div class="headline-bar" title={overview.headline}>
      <span>{unbroken(overview.headline)}</span>
      {first && (
        <button
          type="button"
          title={`${first.title}\nShow the findings`}
          onClick={() => actions.showOverview()}
        >
          {first.title} <span aria-hidden="true">›</span>
        </button>
      )}
    </div>
  );
}
