/** How high a timeline is, how its columns share the width, and what follows when either changes. */

import type { Actions } from "../input/actions";
import type { Store } from "../state/store";
import { bindSize } from "../ui/resize_handle";
import type { Frame } from "./canvas/frame";
import type { FindPart } from "./parts/skeleton";

/** Activity, ruler and borders (CSS px). */
const AXES_PX = 38 + 22 + 2;
/** What stands above and below them. */
const BARS = ".toolbar, .headline-bar, .steps, .status";
/** Details need some room, however few the lanes are. */
const MIN_HEIGHT_PX = 340;
/** A timeline with tabs below it leaves them the rest of the window. */
const TABBED_PART = 0.5;
/** Below this width (CSS px) details go under the lanes and do not open by themselves; the style sheet has it too. */
const NARROW_PX = 900;

/** The height (CSS px) at which all lanes that are shown are in sight; `root` holds the timeline. */
export function neededHeight(root: ParentNode, { arrangement }: Store): number {
  const bars = [...root.querySelectorAll<HTMLElement>(BARS)].reduce((sum, bar) => sum + bar.offsetHeight, 0);
  return Math.max(AXES_PX + bars + arrangement.height + 12, MIN_HEIGHT_PX);
}

/** No higher than the lanes that are shown; what is filtered or hidden for a while keeps its room. */
export function fitHeight(root: HTMLElement, store: Store): void {
  const { host } = store;
  const given = host.get("height");
  // Findings below it should be in sight without scrolling.
  const hasTabs = HAS_PANELS && host.link && host.pair?.side === undefined;
  const most = hasTabs ? Math.min(given, Math.max(innerHeight * TABBED_PART, MIN_HEIGHT_PX)) : given;
  const fit = () => {
    // Whoever drags it to a height has that.
    if (host.get("height") !== given) return;
    if (!host.get("lane_filter") && store.lanes.hidden.size === 0)
      root.style.height = `${Math.min(most, neededHeight(root, store))}px`;
  };
  fit();
  store.on(["layout"], fit);
  // Details bring a headline, which is drawn before the next frame.
  store.on(["details"], () => requestAnimationFrame(fit));
}

export function followSize(
  root: HTMLElement,
  lanes: HTMLElement,
  store: Store,
  actions: Actions,
  frame: Frame,
): void {
  const observer = new ResizeObserver(() => {
    // Also the first size: at mount a restored or hidden output has none.
    if (store.width === 0 && root.clientWidth < NARROW_PX)
      store.setPanel({ panelOpen: store.selection !== null });
    store.setSize(lanes.clientWidth, lanes.clientHeight);
    // Details that have just opened below the lanes may cover what they are about.
    if (root.clientWidth < NARROW_PX && store.selected !== null) actions.keepInSight(store.selected);
    frame.resize();
  });
  observer.observe(lanes);
  store.signal.addEventListener("abort", () => observer.disconnect());
}

/** A native scroll bar beside the lanes: it scrolls them, and the wheel over the lanes stays the notebook's. */
export function bindScroll(scroller: HTMLElement, store: Store): void {
  const inner = scroller.firstElementChild as HTMLElement;
  const fit = () => {
    inner.style.height = `${store.arrangement.height}px`;
    if (Math.abs(scroller.scrollTop - store.scroll) >= 1) scroller.scrollTop = store.scroll;
  };
  store.on(["layout", "viewport"], fit);
  scroller.addEventListener("scroll", () => store.scrollTo(scroller.scrollTop), { signal: store.signal });
}

export function bindSizes(root: HTMLElement, main: HTMLElement, find: FindPart, store: Store): void {
  const { signal, host } = store;
  const column = (name: string, fallback: number) => ({
    read: () => Number.parseFloat(root.style.getPropertyValue(name)) || fallback,
    write: (size: number) => root.style.setProperty(name, `${size}px`),
  });
  bindSize(
    find("splitter"),
    { axis: "x", direction: 1, least: 80, most: () => main.clientWidth * 0.6, ...column("--labels", 196) },
    signal,
  );
  bindSize(
    find("details-splitter"),
    {
      axis: "x",
      direction: -1,
      least: 200,
      most: () => root.clientWidth * 0.6,
      ...column("--details", 318),
      read: () => root.querySelector(".details")?.clientWidth ?? 318,
    },
    signal,
  );
  if (OWNS_PAGE) find("grip").remove();
  else
    bindSize(
      find("grip"),
      {
        axis: "y",
        direction: 1,
        least: 160,
        most: () => 4000,
        read: () => root.clientHeight,
        write: (height) => {
          host.set("height", height);
          root.style.height = `${height}px`;
        },
      },
      signal,
    );
}
