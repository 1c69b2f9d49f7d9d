/** The critical path. While it is shown, its events are the search result. */

import type { Store } from "./store";

const QUERY = "is:critical";
export const NOT_FOR_DATASET = "Not available for a dataset: use show_timeline(dataset.trace(...))";

export const isCritical = (store: Store) => store.searchText.includes(QUERY);

/** Why no path can be shown; empty if it can, or if the kernel computes it. */
export function whyNoPath({ details, detailsError, run }: Store): string {
  if (run.rest === "lanes") return NOT_FOR_DATASET;
  if (run.rest || details?.waiting?.path) return "";
  return details ? "Nothing here belongs to a step" : (detailsError ?? "Loading the rest …");
}

/** Light up the critical path and list it, or no longer; what else is searched for stays. */
export function toggleCritical(store: Store): void {
  if (whyNoPath(store)) return;
  const text = store.searchText.replace(QUERY, "").trim();
  if (!isCritical(store)) {
    store.select(null);
    // Tabs list it.
    store.setPanel({ panelOpen: store.panelOpen || !store.host.link });
  }
  store.setSearch(isCritical(store) ? text : `${QUERY} ${text}`.trim());
}
