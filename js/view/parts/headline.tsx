/** The sentence that sums the trace up, with the first finding, or over one of two compared timelines. */

import type { Actions } from "../../input/actions";
import { unbroken } from "../../model/format/units";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { FindingBody } from "../../ui/overview_card";
import { Popover } from "../../ui/popover";
import { showFinding } from "../details/findings";
import { hasTabs } from "../sizes";
import { ShownTrace } from "./toolbar";

const NBSP = "\u00a0";

/** The findings are next to it already. */
function isOverviewShown({ panelOpen, selection, moment, matches }: Store): boolean {
  return panelOpen && !selection && !moment && !matches;
}

export function Headline({ store, actions }: { store: Store; actions: Actions }) {
  useTopics(store, ["details", "layout", "panel", "selection", "search"]);
  const overview = store.details?.overview;
  // It has its line from the start: lanes that move when it comes slip away under the pointer.
  if (!overview?.headline) return store.awaitsDetails ? <div class="headline-bar">{NBSP}</div> : null;
  const scope = store.step === null && !store.aligned ? "" : "Whole run: ";
  // The tabs under a timeline have the findings. Closed details change nothing here: a click opens them, and lanes
  // that move slip away under the pointer.
  const first = hasTabs(store.host) || isOverviewShown(store) ? undefined : overview.findings.items[0];
  return (
    <div class="headline-bar">
      <span title={overview.headline}>
        {scope}
        {unbroken(overview.headline)}
      </span>
      {first && (
        <Popover text="Why?" title={`${first.title}\n${first.advice}`} kind="dialog" name={first.title}>
          {(close) => (
            <div class="finding-list">
              <b>{first.title}</b>
              <FindingBody
                finding={first}
                onShow={() => {
                  close();
                  showFinding(store, actions, first);
                }}
              />
            </div>
          )}
        </Popover>
      )}
    </div>
  );
}

/** The line over one of two compared timelines: its title and its own headline. */
export function SideHeader({ store }: { store: Store }) {
  useTopics(store, ["details"]);
  const sentence = store.details?.overview?.headline;
  return (
    <div class="toolbar side">
      <ShownTrace store={store} />
      {sentence && <span class="sentence">{sentence}</span>}
    </div>
  );
}
