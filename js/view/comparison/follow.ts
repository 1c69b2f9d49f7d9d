/** Applies the shared toolbar's settings of one timeline to the other as well. */

import type { Store } from "../../state/store";

/**
 * Share the search in both directions, and give the lower timeline the lane filter of the upper
 * one in its order; selection, view and sizes go over their link.
 */
export function followEachOther(stores: readonly Store[]): void {
  const [upper, ...lower] = stores;
  const filterOf = (store: Store) => store.host.get("lane_filter");
  let filter = upper && filterOf(upper);
  upper?.on(["layout"], () => {
    const { byBusy } = upper.lanes;
    for (const store of lower) {
      if (filterOf(upper) !== filter) store.setOption("lane_filter", filterOf(upper));
      if (store.lanes.byBusy !== byBusy) store.lanes.sortByBusy(byBusy);
    }
    filter = filterOf(upper);
  });
  for (const store of stores)
    store.on(["search"], () => {
      for (const other of stores)
        if (other.searchText !== store.searchText) other.setSearch(store.searchText);
    });
}
