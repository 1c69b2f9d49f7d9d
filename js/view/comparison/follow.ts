/** Applies what the shared toolbar sets in one of two timelines to the other as well. */

import type { Store } from "../../state/store";

/** Have each search for what the other one searches for; selection, view and sizes go over their link. */
export function followEachOther(stores: readonly Store[]): void {
  for (const store of stores)
    store.on(["search"], () => {
      for (const other of stores)
        if (other.searchText !== store.searchText) other.setSearch(store.searchText);
    });
}
