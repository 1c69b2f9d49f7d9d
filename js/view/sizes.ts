/** The height of a timeline, how its columns share the width, and reactions when either changes. */

import type { Host } from "../host/host";
import type { Actions } from "../input/actions";
import type { Store } from "../state/store";
import { bindSize } from "../ui/resize_handle";
import type { Frame } from "./canvas/frame";
import type { FindPart } from "./parts/skeleton";

/** Activity, ruler and borders (CSS px). */
const AXES_PX = 30 + 25 + 2;
/** The bars above and below them. */
const BARS = ".toolbar, .headline-bar, .steps, .flags, [data-part] > .step-card, .status";
/** Details need some room, however few the lanes are. */
const MIN_HEIGHT_PX = 340;
/** Details of compared timelines are next to both, but some lanes should be in sight below the bars. */
const MIN_SIDE_PX = 250;
/** A timeline with tabs below it leaves them the rest of the window, and so do two that are compared. */
const TABBED_PART = 0.5;
const SIDE_PART = 0.27;
/**
 * Below this width (CSS px) details go under the lanes and do not open by themselves: beside them less than 420 px
 * would be left. The style sheet has it too.
 */
const NARROW_PX = 840;
/** The most that details beside the lanes make a widget high (CSS px); longer details scroll. */
const MOST_DETAILS_PX = 480;

/** The height (CSS px) at which all lanes that are shown are in sight; `root` holds the timeline. */
function neededHeight(root: ParentNode, { arrangement, host }: Store): number {
  return Math.max(heightAround(root) + arrangement.height, leastHeight(host));
}

/** The height above and below the lanes. */
function heightAround(root: ParentNode): number {
  const bars = [...root.querySelectorAll<HTMLElement>(BARS)].reduce((sum, bar) => sum + bar.offsetHeight, 0);
  return AXES_PX + bars + 12;
}

function leastHeight({ pair }: Host): number {
  return pair?.side === undefined ? MIN_HEIGHT_PX : MIN_SIDE_PX;
}

/** Preferred height of a graph or of code below the lanes (CSS px). */
function paneHeight(root: ParentNode): number {
  const pane = root.querySelector(".pane");
  return pane ? Number.parseFloat(getComputedStyle(pane).flexBasis) : 0;
}

/** Calls `fit` whenever lanes, details or a pane in `root` may need another height: once they are drawn. */
function onNeeds(root: ParentNode, store: Store, fit: () => void, signal: AbortSignal): void {
  store.on(["layout"], fit, signal);
  const part = (name: string) => root.querySelector(`[data-part=${name}]`);
  // Before the next paint: otherwise the lanes get the height of a closing pane for a frame, and scroll. A layout
  // until then has already moved the native scroll bar.
  const observer = new MutationObserver(() => {
    fit();
    const lanes = part("lanes")!;
    store.setSize(lanes.clientWidth, lanes.clientHeight);
  });
  for (const name of ["range", "graph", "code", "details"])
    if (part(name)) observer.observe(part(name)!, { childList: true });
  signal.addEventListener("abort", () => observer.disconnect());
  // Details bring a headline, which is drawn before the next frame.
  const soon = () => requestAnimationFrame(() => signal.aborted || fit());
  store.on(["details", "panel", "selection"], soon, signal);
}

/** Whether it is a dashboard's, with tabs below it. */
export function hasTabs({ link, pair }: Host): boolean {
  return HAS_PANELS && Boolean(link) && pair?.side === undefined;
}

/** Lanes filtered or hidden for a while keep their room, and once there is a height, also lanes without events in a step. */
function keepsRoom({ host, lanes, step, aligned }: Store, height: number): boolean {
  return Boolean(host.get("lane_filter") || lanes.hidden.size || (height && (step ?? aligned) !== null));
}

/**
 * Makes a timeline as high as its lanes, or the details of the whole run, need. Panes that open are added, so that the
 * lanes keep their height.
 */
export function fitHeight(root: HTMLElement, store: Store): void {
  const { host, signal } = store;
  const given = host.get("height");
  // Findings and tables below it should be in sight without scrolling.
  const part = host.pair?.side === undefined ? TABBED_PART : SIDE_PART;
  const isAbove = HAS_PANELS && host.link;
  const most = isAbove ? Math.min(given, Math.max(innerHeight * part, leastHeight(host))) : given;
  const opened = new OpenedHeight(root, store);
  let lanes = 0;
  const fit = () => {
    const height = host.get("height");
    // Whoever drags it to a height has that.
    if (height !== given) lanes = height;
    else if (!keepsRoom(store, lanes))
      lanes = Math.min(most, Math.max(neededHeight(root, store), opened.whole()));
    else lanes ||= most;
    const next = lanes + opened.beyond(lanes);
    const scrollBack = pointedTabs(root);
    root.style.marginBottom = `${roomBelow(root, next)}px`;
    root.style.height = `${next}px`;
    scrollBack?.();
  };
  root.dataset.grows = "";
  useRoom(store, most - heightAround(root));
  fit();
  onNeeds(root, store, fit, signal);
  host.watch("height", fit, signal);
  bindSize(
    root.querySelector<HTMLElement>("[data-part=grip]")!,
    {
      axis: "y",
      direction: 1,
      least: 160,
      most: () => 4000,
      read: () => root.clientHeight,
      write: (height) => {
        host.set("height", height - opened.now);
        fit();
      },
    },
    signal,
  );
}

/** Keeps the tabs of a dashboard under the pointer: returns what scrolls them back to their place; null elsewhere. */
function pointedTabs(root: HTMLElement): (() => void) | null {
  const { host } = root.getRootNode() as ShadowRoot;
  const tabs = HAS_PANELS && host.parentElement?.querySelector(":scope > .tfvis-nb-panels:hover");
  if (!tabs) return null;
  const top = () => tabs.getBoundingClientRect().top;
  const before = top();
  return () => {
    for (let at: Element | null = tabs; at && top() !== before; at = at.parentElement)
      at.scrollTop += top() - before;
  };
}

/**
 * The room (CSS px) that a page needs below a timeline of this height to keep its scroll position: otherwise the lanes
 * would move under the pointer.
 */
function roomBelow(root: HTMLElement, height: number): number {
  const shrinks = root.offsetHeight + Number.parseFloat(root.style.marginBottom || "0") - height;
  let room = 0;
  for (let at: Node | null = root; at; at = at instanceof ShadowRoot ? at.host : at.parentNode)
    if (at instanceof Element && at.scrollTop > 0)
      room = Math.max(room, shrinks - (at.scrollHeight - at.clientHeight - at.scrollTop));
  return room;
}

/** What details, a graph and code add to the height of a timeline (CSS px). */
class OpenedHeight {
  now = 0;
  /** Shorter details of the next selection do not shrink the widget: the cells below would jump. */
  #details = 0;
  #whole = 0;
  #isNarrow = false;

  constructor(
    readonly root: HTMLElement,
    readonly store: Store,
  ) {}

  /** The height of open panes, beyond `lanes` and the bars around them. */
  beyond(lanes: number): number {
    const { root, store } = this;
    const details = root.querySelector<HTMLElement>(".details");
    const isNarrow = root.clientWidth < NARROW_PX;
    const pane = paneHeight(root);
    const isBelow = root.querySelector(".pane")?.clientWidth === root.clientWidth;
    const isBeside = store.selection !== null && this.#beside();
    if (!details || isNarrow !== this.#isNarrow || !(isNarrow || isBeside)) this.#details = 0;
    this.#isNarrow = isNarrow;
    if (details && isNarrow) this.#details = Math.max(this.#details, details.offsetHeight);
    // Code below both would move down under a click in it.
    else if (isBeside && !isBelow)
      this.#details = Math.max(this.#details, this.#needed(isBeside, MOST_DETAILS_PX) - lanes);
    // Other panes open under the lanes, beside these details.
    this.now = isBelow ? this.#details + pane : Math.max(this.#details, pane);
    return this.now;
  }

  /** The height for details of the whole run. Other details keep it: the cells below would jump. */
  whole(): number {
    const details = this.#beside();
    if (!details || !this.store.selection) this.#whole = details ? this.#needed(details) : 0;
    return this.#whole;
  }

  /** Details next to the lanes; null with tabs, because these would be pushed away from under the pointer. */
  #beside(): HTMLElement | null {
    const { root, store } = this;
    return root.clientWidth < NARROW_PX || hasTabs(store.host) ? null : root.querySelector(".details");
  }

  #needed(details: HTMLElement, most = Number.POSITIVE_INFINITY): number {
    const { top, height } = details.getBoundingClientRect();
    const padding = Number.parseFloat(getComputedStyle(details).paddingBottom);
    const last = details.lastElementChild!.getBoundingClientRect();
    // Not their scroll height: beside an open pane that is more.
    const content = Math.ceil(last.bottom - top + details.scrollTop + padding);
    return Math.min(content, most) + this.root.offsetHeight - height;
  }
}

/** Partly loaded traces have no rows of folded lanes. */
function useRoom(store: Store, height: number): void {
  if (store.drawn.rest !== "lanes") store.lanes.useRoom(store.arrangement, height);
}

export function followSize(
  root: HTMLElement,
  /** The element around the details: the timeline, or both that are compared. */
  outer: HTMLElement,
  lanes: HTMLElement,
  store: Store,
  actions: Actions,
  frame: Frame,
): void {
  let isNarrow = false;
  let isClosed = false;
  const isGrowing = "grows" in root.dataset;
  let filled = 0;
  // Other windows, not panes that open, give lanes another height, but not under the pointer.
  const fill = () => {
    // Where tabs or another timeline follow, they take the height that lanes leave; so do the cells of a notebook.
    if ((HAS_PANELS && store.host.link) || isGrowing || !store.details) return;
    if (root.clientHeight === filled || !store.height) return;
    filled = root.clientHeight;
    store.lanes.grow(store.arrangement, store.height);
  };
  store.on(["details"], fill);
  const observer = new ResizeObserver(() => {
    // This also sets the first size: a restored or hidden output has no size at mount.
    const wasNarrow = isNarrow;
    isNarrow = outer.clientWidth < NARROW_PX;
    if (isNarrow && !wasNarrow) {
      isClosed = store.panelOpen && store.selection === null;
      if (isClosed) store.setPanel({ panelOpen: false });
    } else if (wasNarrow && !isNarrow && isClosed) store.setPanel({ panelOpen: true });
    // Details go below the lanes or back beside them.
    if (isNarrow !== wasNarrow) store.emit("layout");
    // Details or a graph that have just opened below the lanes may cover the event that was seen there.
    const { selected } = store;
    const isCovered = (isNarrow || store.graphOpen) && selected !== null && actions.isInSight(selected);
    if (!isGrowing && store.height === 0) useRoom(store, lanes.clientHeight);
    store.setSize(lanes.clientWidth, lanes.clientHeight);
    fill();
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
    inner.style.height = `${Math.max(store.arrangement.height, store.scroll + store.height)}px`;
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
  const { signal } = store;
  const read = () => find("labels").offsetWidth;
  const write = (size: number) => root.style.setProperty("--labels", `${size}px`);
  const most = () => main.clientWidth * 0.6;
  bindSize(find("splitter"), { axis: "x", direction: 1, least: 80, most, read, write }, signal);
  const splitter = find("details-splitter");
  if (splitter) bindDetailsWidth(splitter, root, signal);
}

/**
 * Gives the part below a page's timeline the room that its lanes do not need, until the user moves the
 * splitter under it.
 */
export function shrinkToLanes(pane: HTMLElement, splitter: HTMLElement, store: Store, most: number): void {
  const moved = new AbortController();
  let part = 0;
  const root = pane.shadowRoot ?? pane;
  useRoom(store, most * innerHeight - heightAround(root));
  const shrink = () => {
    if (keepsRoom(store, part)) return;
    part = Math.min(most, neededHeight(root, store) / innerHeight);
    pane.style.height = `calc(${100 * part}vh + ${paneHeight(root)}px)`;
  };
  shrink();
  const signal = AbortSignal.any([store.signal, moved.signal]);
  onNeeds(root, store, shrink, signal);
  for (const kind of ["pointerdown", "keydown"])
    splitter.addEventListener(kind, () => moved.abort(), { signal: moved.signal });
}
