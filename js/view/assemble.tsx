/** Puts the parts of a timeline together: canvases, panels, input, sizes, theme. */

import { render } from "preact";
import { Actions } from "../input/actions";
import { besideSelected, bindContextMenu } from "../input/context_menu";
import { bindRelease, runKey } from "../input/keyboard";
import { Pointer } from "../input/pointer";
import { bindRuler } from "../input/ruler_drag";
import { bindWheel } from "../input/wheel";
import { isolated } from "../model/format/bidi";
import { formatDuration, formatNumber } from "../model/format/units";
import { entryOfEvent, eventCount } from "../model/lod/merged";
import type { Outline } from "../model/lod/outline";
import { ComparisonLink } from "../state/comparison_link";
import { DashboardLink } from "../state/dashboard_link";
import { loadRest } from "../state/loading";
import type { Store } from "../state/store";
import { keepView } from "../state/view";
import { followLinks } from "../state/view_link";
import { copied } from "../ui/clipboard";
import { followKeys, type OwnKeys } from "../ui/own_keys";
import { detectTheme, readTokens, watchTheme } from "../ui/theme";
import { Frame, type FrameTimes } from "./canvas/frame";
import { CodePane } from "./code/pane";
import { DetailsPanel } from "./details/panel";
import { RangePane } from "./details/range_pane";
import { GraphPane } from "./graph/pane";
import { AnnotationCorner, AnnotationFlags } from "./parts/annotation_flags";
import { Announcer, CursorTime } from "./parts/announcer";
import { ContextMenu } from "./parts/context_menu";
import { Headline, SideHeader } from "./parts/headline";
import { Help } from "./parts/help";
import { LaneFilter, LaneLabels } from "./parts/lane_labels";
import { NoLanes, ProgressBar } from "./parts/lane_notices";
import { type FindPart, Skeleton } from "./parts/skeleton";
import { StatusLine } from "./parts/status_line";
import { StepStrip } from "./parts/step_strip";
import { Toolbar } from "./parts/toolbar";
import { Tooltip } from "./parts/tooltip";
import { bindScroll, bindSizes, fitHeight, followSize, hasTabs } from "./sizes";

/**
 * The programmatic view of a mounted timeline: where an event (by id) is on the screen, how long frames took.
 */
export interface Mounted {
  store: Store;
  actions: Actions;
  lanes: HTMLElement;
  times: FrameTimes;
  /** The middle of an event's bar in client coordinates, or null when it is not in view. */
  locate(event: number): { x: number; y: number } | null;
}

/** Parts that two compared timelines share: toolbar, legend, details, help. */
export interface Around {
  root: HTMLElement;
}

export function assemble(
  root: HTMLElement,
  element: HTMLElement,
  store: Store,
  outline: Outline | null,
  keys: OwnKeys,
  around?: Around,
): Mounted {
  const isMac = /mac/i.test(navigator.platform);
  const outer = around?.root ?? root;
  const find = renderSkeleton(root, store, !!around);
  const lanes = find("lanes");
  const hint = hinter(find("hint"), store.signal);
  const actions = new Actions(store, {
    hint,
    copy: copied,
    fullScreen: () => toggleFullScreen(outer),
    openMenu: () => openMenu(lanes, store),
    ...focusTargets(outer, lanes),
  });
  if (HAS_PANELS && hasTabs(store.host)) openForSelections(store);
  const frame = new Frame(store, { root, minimap: find("minimap"), ruler: find("ruler"), lanes });
  followTheme(root, element, store, frame);
  renderParts(root, find, store, actions, isMac, !!around);
  if (OWNS_PAGE || store.host.fills) find("grip").remove();
  else fitHeight(root, store);

  bindInput(find, store, actions, () =>
    hint(`${isMac ? "⌘" : "Ctrl"} + wheel zooms · click, then the wheel scrolls the lanes`),
  );
  bindScroll(find("scroll"), store);
  bindSizes(root, find("main"), find, store);

  followSize(root, outer, lanes, store, actions, frame);
  loadRest(store, outline, actions);
  revealSelectionOfPython(store, actions);
  keepView(store);
  followLinks(store, hint);
  if (HAS_PANELS) linkPanels(root, store, actions, keys);
  keys.home = () => lanes;
  keys.press = (event, where) => runKey(event, actions, where);
  bindRelease(actions);
  keys.isMain = OWNS_PAGE && !store.host.pair?.side;
  if (keys.isMain) focusQuietly(lanes, store, actions);

  return {
    store,
    actions,
    lanes,
    times: frame.times,
    locate: (event) => locate(lanes, store, entryOfEvent(store.drawn, event)),
  };
}

/** Renders the empty frame with the text for screen readers. Returns a function that finds its parts. */
function renderSkeleton(root: HTMLElement, store: Store, isSide: boolean): FindPart {
  const { drawn } = store;
  const title = drawn.title ? ` of ${isolated(drawn.title)}` : "";
  root.setAttribute("role", "region");
  root.setAttribute("aria-label", `Timeline${title}`);
  const events = formatNumber(eventCount(drawn), "event");
  const lanes = formatNumber(drawn.lanes.length, "lane");
  const extent = `${events} in ${lanes} over ${formatDuration(drawn.span)}`;
  render(<Skeleton extent={extent} isSide={isSide} />, root);
  return (name) => root.querySelector<HTMLElement>(`[data-part="${name}"]`)!;
}

/** Targets of actions for the keyboard focus. */
function focusTargets(root: HTMLElement, lanes: HTMLElement) {
  lanes.tabIndex = 0;
  return {
    focusLanes: () => lanes.focus({ preventScroll: true }),
    focusSearch: () => {
      const input = root.querySelector<HTMLInputElement>(".search input");
      const before = root.querySelector(":focus");
      input?.focus();
      // The next search replaces the one before.
      input?.select();
      return input !== before;
    },
    openView: () => root.querySelector<HTMLElement>(".toolbar [aria-haspopup=dialog]")?.click(),
  };
}

/** Opens the menu at the selected event, for the menu key. */
function openMenu(lanes: HTMLElement, store: Store): void {
  const { left, top } = lanes.getBoundingClientRect();
  const { x, y, event } = besideSelected(store);
  const key = store.itemAt(y)?.item.key;
  if (key !== undefined) store.setPanel({ menu: { x: left + x, y: top + y, event, key } });
}

/** Pointer and wheel; `hint` explains a wheel that the timeline leaves to the page. */
function bindInput(find: FindPart, store: Store, actions: Actions, hint: () => void): void {
  const lanes = find("lanes");
  bindContextMenu(lanes, find("labels"), store, new Pointer(lanes, store, actions));
  bindWheel(lanes, store, { scrollTo: (top) => store.scrollTo(top), hint });
  bindRuler(find("ruler"), store, actions);
}

/** A selection made in Python is brought into view: an outline somewhere off the screen would go unseen. */
function revealSelectionOfPython(store: Store, actions: Actions): void {
  if (HAS_KERNEL)
    store.host.watch("selection", (_, isPython) => isPython && actions.revealSelection(true), store.signal);
  if (store.selection && !store.host.get("view")) actions.revealSelection(true);
}

/** Details are open while something is selected or searched for: the tabs below have everything else. */
function openForSelections(store: Store): void {
  // The tabs follow a selected range.
  store.tableOpen = false;
  const follow = () => {
    const panelOpen = store.selection !== null || store.moment !== null || store.searchText !== "";
    if (panelOpen !== store.panelOpen) store.setPanel({ panelOpen });
  };
  if (!store.host.get("view")) follow();
  store.on(["selection", "search"], follow);
}

/** Connects the timeline to the tabs of its dashboard, or to the other timeline of a comparison. */
function linkPanels(root: HTMLElement, store: Store, actions: Actions, keys: OwnKeys): void {
  const { link, pair } = store.host;
  if (!link) return;
  if (pair?.side === undefined) {
    new DashboardLink(store, actions, link);
    followKeys(link, keys, store.signal);
  } else new ComparisonLink(store, actions, link, pair.side, root);
}

/**
 * Focuses the lanes of a page that holds nothing else which could want the keys, so that shortcuts work
 * without a click. A focus ring would point out a move that the user did not make: `data-quiet` keeps it away
 * until the focus leaves or a key is pressed.
 */
function focusQuietly(lanes: HTMLElement, store: Store, actions: Actions): void {
  actions.focusLanes();
  lanes.dataset.quiet = "";
  for (const kind of ["blur", "keydown"])
    lanes.addEventListener(kind, () => delete lanes.dataset.quiet, { once: true, signal: store.signal });
}

function followTheme(root: HTMLElement, element: HTMLElement, store: Store, frame: Frame): void {
  const retheme = () => {
    root.dataset.theme = detectTheme(element);
    const tokens = readTokens(root);
    store.repaint(tokens.theme, tokens.ground);
    frame.retheme(tokens);
  };
  retheme();
  watchTheme(element, retheme, store.signal);
}

/** Shows a text over the lanes briefly; "" clears it. */
function hinter(element: HTMLElement, signal: AbortSignal): (text: string) => void {
  let timer = 0;
  signal.addEventListener("abort", () => clearTimeout(timer));
  return (text) => {
    element.textContent = text;
    element.hidden = !text;
    clearTimeout(timer);
    // Long enough to be read.
    timer = setTimeout(() => (element.hidden = true), Math.max(1600, text.length * 70)) as unknown as number;
  };
}

/** The middle of the visible part of a bar in client coordinates; null when no part of it is in view. */
function locate(lanes: HTMLElement, store: Store, id: number | null): { x: number; y: number } | null {
  if (id === null) return null;
  const top = store.placement.top(id);
  const { start, end } = store.viewport;
  const scale = store.width / (end - start);
  const left = Math.max((store.drawn.start[id] - start) * scale, 0);
  const right = Math.min((store.end(id) - start) * scale, store.width);
  if (top === null || right < 0 || left > store.width) return null;
  const y = top - store.scroll + store.placement.height(id) / 2;
  if (y < store.covered || y > store.height) return null;
  const box = lanes.getBoundingClientRect();
  return { x: box.left + (left + Math.max(right, left)) / 2, y: box.top + y };
}

function renderParts(
  root: HTMLElement,
  find: FindPart,
  store: Store,
  actions: Actions,
  isMac: boolean,
  isSide: boolean,
): void {
  if (isSide) render(<SideHeader store={store} />, find("toolbar"));
  else {
    render(<Toolbar store={store} actions={actions} root={root} />, find("toolbar"));
    render(<Headline store={store} actions={actions} />, find("headline"));
    render(<DetailsPanel store={store} actions={actions} />, find("details"));
    render(<GraphPane store={store} actions={actions} root={root} />, find("graph"));
    render(<RangePane store={store} actions={actions} />, find("range"));
    render(<CodePane store={store} actions={actions} />, find("code"));
    render(<StatusLine store={store} isMac={isMac} />, find("status"));
    render(<Help store={store} />, find("help"));
  }
  render(<StepStrip store={store} />, find("steps"));
  render(<LaneLabels store={store} column={find("labels")} />, find("labels"));
  render(
    <>
      <AnnotationCorner store={store} actions={actions} />
      <AnnotationFlags store={store} actions={actions} />
    </>,
    find("annotations"),
  );
  render(<NoLanes store={store} actions={actions} />, find("no-lanes"));
  render(<LaneFilter store={store} actions={actions} />, find("filter"));
  if (HAS_KERNEL) render(<ProgressBar store={store} />, find("progress"));
  render(<Tooltip store={store} main={find("main")} />, find("tooltip"));
  render(<CursorTime store={store} />, find("cursor"));
  render(<Announcer store={store} />, find("announcer"));
  render(<ContextMenu store={store} actions={actions} />, find("menu"));
  store.signal.addEventListener("abort", () => {
    for (const part of root.querySelectorAll("[data-part]")) render(null, part);
  });
}

/** `root` in its shadow root; the element around it fills the screen because its width decides the layout.
 * */
async function toggleFullScreen(root: HTMLElement): Promise<void> {
  const shadow = root.getRootNode() as ShadowRoot;
  if (document.fullscreenElement && isInside(document.fullscreenElement, shadow.host)) {
    await document.exitFullscreen();
    return;
  }
  await shadow.host.requestFullscreen();
}

/** Whether the element, or the host of a shadow root around it, is `other`. */
function isInside(other: Element, element: Element): boolean {
  const { host } = element.getRootNode() as ShadowRoot;
  return other === element || (host !== undefined && isInside(other, host));
}
