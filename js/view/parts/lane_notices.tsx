/** Notices over the lanes: that none is shown, and that more of the trace is loading. */

import type { Actions } from "../../input/actions";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";

/** Replaces the lanes when all are filtered out or hidden. */
export function NoLanes({ store, actions }: { store: Store; actions: Actions }) {
  useTopics(store, ["layout"]);
  if (store.arrangement.items.length > 0) return null;
  const filter = store.host.get("lane_filter");
  return (
    <div class="no-lanes" role="status">
      <p>{filter ? `No lane contains “${filter}”.` : "All lanes are hidden."}</p>
      <button
        type="button"
        onClick={() => {
          store.setOption("lane_filter", "");
          store.lanes.unhideAll();
          actions.focusLanes();
        }}
      >
        Show all lanes
      </button>
    </div>
  );
}

/** A thin line over the lanes while more of the trace is on its way. */
export function ProgressBar({ store }: { store: Store }) {
  useTopics(store, ["notice"]);
  const { notice } = store;
  if (!notice) return null;
  const isKnown = notice.part !== null;
  return (
    <div
      class="progress"
      role="progressbar"
      aria-label={notice.text}
      aria-valuenow={isKnown ? Math.round(100 * (notice.part ?? 0)) : undefined}
      data-unknown={isKnown ? undefined : ""}
    >
      <i style={{ width: isKnown ? `${100 * (notice.part ?? 0)}%` : "100%" }} />
    </div>
  );
}
