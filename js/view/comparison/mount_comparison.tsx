/** Puts two timelines above each other into an element, and around them what both share. */

import { render } from "preact";
import type { Host } from "../../host/host";
import type { Store } from "../../state/store";
import { followKeys, ownKeys } from "../../ui/own_keys";
import { timelinePane } from "../../ui/page_panes";
import { themedRoot } from "../../ui/styled_shadow";
import { type Mounted, mount } from "../mount";
import { bindDetailsWidth, shrinkToLanes } from "../sizes";
import { STYLES } from "../styles";
import comparison from "../styles/comparison.css";
import { Around } from "./around";

/** The part of the window that each timeline of a page has at first. */
const PAGE_PART = 0.31;
const NAMES = ["upper", "lower"];

interface Side {
  pane: HTMLElement;
  splitter: HTMLElement | null;
}

/** Show the timelines of `hosts` in `element` until `signal` aborts. */
export async function mountComparison(
  element: HTMLElement,
  hosts: readonly Host[],
  signal: AbortSignal,
): Promise<void> {
  const root = themedRoot(element, "tfv compared", [...STYLES, comparison], signal);
  if (OWNS_PAGE) root.dataset.page = "";
  const keys = ownKeys(element, root, signal);
  if (hosts[0].link) followKeys(hosts[0].link, keys, signal);
  const sides = NAMES.map((name) => sidePane(name, signal));
  const panes = sides.map(({ pane }) => pane);
  const both = document.createElement("div");
  both.className = "both";
  both.append(...sides.flatMap(({ pane, splitter }) => (splitter ? [pane, splitter] : [pane])));
  const headline = hosts[0].pair?.headline ?? [];
  const draw = (shown: readonly Mounted[]) =>
    render(<Around {...{ headline, both, panes, shown, root, keys }} />, root);
  draw([]);
  const mounted = await Promise.all(hosts.map((host, side) => showSide(sides[side], host, root, signal)));
  if (signal.aborted) return;
  const shown = mounted.filter((each) => each !== null);
  followEachOther(shown.map(({ store }) => store));
  draw(shown);
  bindDetailsWidth(root.querySelector<HTMLElement>("[data-part=details-splitter]")!, root, signal);
  signal.addEventListener("abort", () => {
    render(null, root);
    root.remove();
  });
}

/** A place for one of them; in a page with a line under it that moves, elsewhere the timeline has a grip itself. */
function sidePane(name: string, signal: AbortSignal): Side {
  if (OWNS_PAGE) return timelinePane(PAGE_PART, `Height of the ${name} timeline`, signal);
  const pane = document.createElement("div");
  pane.className = "tfvis-timeline";
  return { pane, splitter: null };
}

async function showSide(
  { pane, splitter }: Side,
  host: Host,
  root: HTMLElement,
  signal: AbortSignal,
): Promise<Mounted | null> {
  const mounted = await mount(pane, host, signal, { root });
  Object.assign(pane, { tfvis: mounted });
  if (mounted && splitter) shrinkToLanes(pane, splitter, mounted.store, PAGE_PART);
  return mounted;
}

/**
 * Share the search in both directions, and give the lower timeline the lane filter of the upper
 * one in its order; selection, view and sizes go over their link.
 */
function followEachOther(stores: readonly Store[]): void {
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
