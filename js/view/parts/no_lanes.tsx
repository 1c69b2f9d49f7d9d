/** Shown instead of the lanes when all are filtered out or hidden. */

import type { Actions } from "../../input/actions";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";

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
