/** The height of a timeline, how its columns share the width, and reactions when either changes. */

import type { Host } from "../host/host";
import type { Actions } from "../input/actions";
import type { Store } from "../state/store";
import { bindSize } from "../ui/resize_handle";
import type { Frame } from "./canvas/frame";
import type { FindPart } from "./parts/skeleton";

/** Activity, ruler and borders (CSS px). */
const AXES_PX = 38 + 25 + 2;
/** The bars above and below them. */
const BARS = ".toolbar, .headline-bar, .steps, .flags, [data-part] > .step-card, .status";
/** Details need some room, however few the lanes are. */
const MIN_HEIGHT_PX = 340;
/** Details of compared timelines are next to both. */
const MIN_SIDE_PX = 160;
/** A timeline with tabs below it leaves them the rest of the window, and so do two that are compared. */
const TABBED_PART = 0.5;
const SIDE_PART = 0.27;
/** Below this width (CSS px) details go under the lanes and do not open by themselves; the style sheet has it too. */
const NARROW_PX = 900;

/** The height (CSS px) at which all lanes that are shown are in sight; `root` holds the timeline. */
export function neededHeight(root: ParentNode, { arrangement, host }: Store): number {
  const bars = [...root.querySelectorAll<HTMLElement>(BARS)].reduce((sum, bar) => sum + bar.offsetHeight, 0);
  return Math.max(AXES_PX + bars + arrangement.height + 12, leastHeight(host));
}

function leastHeight({ pair }: Host): number {
  return pair?.side === undefined ? MIN_HEIGHT_PX : MIN_SIDE_PX;
}

/** Preferred height of a graph below the lanes (CSS px). */
function graphHeight(root: ParentNode): number {
  const graph = root.querySelector(".graph");
  return graph ? Number.parseFloat(getComputedStyle(graph).flexBasis) : 0;
}

/** Calls `fit` whenever lanes, details or graph may need another height: once they are drawn. */
function onNeeds(store: Store, fit: () => void, signal: AbortSignal): void {
  store.on(["layout"], fit, signal);
  // Details bring a headline; it and a graph are drawn before the next frame.
  store.on(["details", "panel"], () => requestAnimationFrame(() => signal.aborted || fit()), signal);
}

/** Whether it is a dashboard's, with tabs below it. */
export function hasTabs({ link, pair }: Host): boolean {
  return HAS_PANELS && Boolean(link) && pair?.side === undefined;
}

/** No higher than the lanes that are shown; lanes filtered or hidden for a while keep their room. */
export function fitHeight(root: HTMLElement, store: Store): void {
  const { host } = store;
  const given = host.get("height");
  // Findings and tables below it should be in sight without scrolling.
  const part = host.pair?.side === undefined ? TABBED_PART : SIDE_PART;
  const isAbove = HAS_PANELS && host.link;
  const most = isAbove ? Math.min(given, Math.max(innerHeight * part, leastHeight(host))) : given;
  const fit = () => {
    // Whoever drags it to a height has that.
    if (host.get("height") !== given) return;
    if (!host.get("lane_filter") && store.lanes.hidden.size === 0)
      root.style.height = `${Math.min(most, neededHeight(root, store)) + graphHeight(root)}px`;
  };
  fit();
  onNeeds(store, fit, store.signal);
}

export function followSize(
  /** The element around the details: the timeline, or both that are compared. */
  outer: HTMLElement,
  lanes: HTMLElement,
  store: Store,
  actions: Actions,
  frame: Frame,
): void {
  let isNarrow = false;
  let isClosed = false;
  const observer = new ResizeObserver(() => {
    // This also sets the first size: a restored or hidden output has no size at mount.
    const wasNarrow = isNarrow;
    isNarrow = outer.clientWidth < NARROW_PX;
    if (isNarrow && !wasNarrow) {
      isClosed = store.panelOpen && store.selection === null;
      if (isClosed) store.setPanel({ panelOpen: false });
    } else if (wasNarrow && !isNarrow && isClosed) store.setPanel({ panelOpen: true });
    // Details or a graph that have just opened below the lanes may cover the event that was seen there.
    const { selected } = store;
    const isCovered = (isNarrow || store.graphOpen) && selected !== null && actions.isInSight(selected);
    store.setSize(lanes.clientWidth, lanes.clientHeight);
    if (isCovered) actions.keepInSight(selected);
    frame.resize();
  });
  observer.observe(lanes);
  store.signal.addEventListener("abort", () => observer.disconnect());
}

/**
 * A native scroll bar next to the lanes: it scrolls them, and the wheel over the lanes stays the notebook's.
 */
export function bindScroll(scroller: HTMLElement, store: Store): void {
  const inner = scroller.firstElementChild as HTMLElement;
  const fit = () => {
    inner.style.height = `${store.arrangement.height}px`;
    if (Math.abs(scroller.scrollTop - store.scroll) >= 1) scroller.scrollTop = store.scroll;
  };
  store.on(["layout", "viewport"], fit);
  scroller.addEventListener("scroll", () => store.scrollTo(scroller.scrollTop), { signal: store.signal });
}

export function bindDetailsWidth(splitter: HTMLElement, root: HTMLElement, signal: AbortSignal): void {
  const read = () => root.querySelector(".details")?.clientWidth ?? 318;
  const write = (size: number) => root.style.setProperty("--details", `${size}px`);
  const most = () => root.clientWidth * 0.6;
  bindSize(splitter, { axis: "x", direction: -1, least: 200, most, read, write }, signal);
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
  const splitter = find("details-splitter");
  if (splitter) bindDetailsWidth(splitter, root, signal);
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

/**
 * Leaves what is below a page's timeline the room that its lanes do not need, until the user moves the
 * splitter under it.
 */
export function shrinkToLanes(pane: HTMLElement, splitter: HTMLElement, store: Store, most: number): void {
  const moved = new AbortController();
  const shrink = () => {
    // Lanes that are filtered out or hidden for now keep their room.
    if (store.host.get("lane_filter") || store.lanes.hidden.size) return;
    const root = pane.shadowRoot ?? pane;
    const part = Math.min(most, neededHeight(root, store) / innerHeight);
    pane.style.height = `calc(${100 * part}vh + ${graphHeight(root)}px)`;
  };
  shrink();
  const signal = AbortSignal.any([store.signal, moved.signal]);
  onNeeds(store, shrink, signal);
  for (const kind of ["pointerdown", "keydown"])
    splitter.addEventListener(kind, () => moved.abort(), { signal: moved.signal });
}
