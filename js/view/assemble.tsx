/** Puts the parts of a timeline together: canvases, panels, input, sizes, theme. */

import { render } from "preact";
import { yieldShortcuts } from "../host/jupyter_shortcuts";
import { Actions } from "../input/actions";
import { bindKeyboard } from "../input/keyboard";
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
import { detectTheme, readTokens, watchTheme } from "../ui/theme";
import { Frame, type FrameTimes } from "./canvas/frame";
import { DetailsPanel } from "./details/panel";
import { Announcer, CursorTime } from "./parts/announcer";
import { Help } from "./parts/help";
import { LaneFilter, LaneLabels } from "./parts/lane_labels";
import { NoLanes } from "./parts/no_lanes";
import { ProgressBar } from "./parts/progress_bar";
import { Skeleton } from "./parts/skeleton";
import { StatusLine } from "./parts/status_line";
import { StepStrip } from "./parts/step_strip";
import { Toolbar } from "./parts/toolbar";
import { Tooltip } from "./parts/tooltip";
import { bindScroll, bindSizes, fitHeight, followSize } from "./sizes";

/** What a mounted timeline answers to programs: where an event (by id) is on the screen, how long frames took. */
export interface Mounted {
  store: Store;
  times: FrameTimes;
  /** The middle of an event's bar in client coordinates, or null when it is not in view. */
  locate(event: number): { x: number; y: number } | null;
}

export function assemble(
  root: HTMLElement,
  element: HTMLElement,
  store: Store,
  outline: Outline | null,
): Mounted {
  const { signal, host, drawn } = store;
  const isMac = /mac/i.test(navigator.platform);
  root.setAttribute("role", "region");
  root.setAttribute("aria-label", `Timeline${drawn.title ? ` of ${isolated(drawn.title)}` : ""}`);
  const description = `${formatNumber(eventCount(drawn), "event")} in ${formatNumber(drawn.lanes.length, "lane")} over ${formatDuration(drawn.span)}. Arrow keys go from event to event, ? lists all keys.`;
  render(<Skeleton description={description} />, root);
  if (!OWNS_PAGE && !host.fills) fitHeight(root, store);
  const find = (name: string) => root.querySelector<HTMLElement>(`[data-part="${name}"]`)!;
  const main = find("main");
  const lanes = find("lanes");
  const scroller = find("scroll");
  lanes.tabIndex = 0;
  const hint = hinter(find("hint"), signal);
  const focusSearch = () => {
    const input = root.querySelector<HTMLInputElement>(".search input");
    input?.focus();
    // What is typed next replaces the search before.
    input?.select();
  };
  const focusLanes = () => lanes.focus({ preventScroll: true });
  const actions = new Actions(store, { hint, focusLanes, focusSearch });
  const frame = new Frame(store, { root, minimap: find("minimap"), ruler: find("ruler"), lanes });
  renderParts(root, find, store, actions, isMac);
  new Pointer(lanes, store, actions);
  bindKeyboard(lanes, root, actions);
  bindWheel(lanes, store, {
    scrollTo: (top) => store.scrollTo(top),
    hint: () => hint(`${isMac ? "⌘" : "Ctrl"} + wheel zooms · click, then the wheel scrolls the lanes`),
  });
  bindRuler(find("ruler"), store, actions);
  bindScroll(scroller, store);
  bindSizes(root, main, find, store);

  if (!OWNS_PAGE) yieldShortcuts(element, signal);

  followTheme(root, element, store, frame);
  followSize(root, lanes, store, actions, frame);
  loadRest(store, outline, actions);
  // A selection made in Python is shown, not only outlined somewhere out of view.
  host.watch("selection", () => actions.revealSelection(), signal);
  if (store.selection) actions.revealSelection();
  if (HAS_PANELS && host.link) {
    const { side } = host.pair ?? {};
    if (side === undefined) new DashboardLink(store, actions, host.link);
    else new ComparisonLink(store, actions, host.link, side, root);
  }
  // On a page of its own nothing else can want the keys.
  if (OWNS_PAGE) {
    actions.focusLanes();
    // Nobody has moved the focus yet, so there is none to point out.
    lanes.dataset.quiet = "";
    lanes.addEventListener("blur", () => delete lanes.dataset.quiet, { once: true, signal });
  }
  return {
    store,
    times: frame.times,
    locate: (event) => locate(lanes, store, entryOfEvent(store.drawn, event)),
  };
}

function renderParts(
  root: HTMLElement,
  find: (name: string) => HTMLElement,
  store: Store,
  actions: Actions,
  isMac: boolean,
): void {
  render(<Toolbar store={store} actions={actions} root={root} />, find("toolbar"));
  render(<StepStrip store={store} />, find("steps"));
  render(<LaneLabels store={store} />, find("labels"));
  render(<NoLanes store={store} actions={actions} />, find("no-lanes"));
  render(<LaneFilter store={store} actions={actions} />, find("filter"));
  render(<DetailsPanel store={store} actions={actions} />, find("details"));
  render(<StatusLine store={store} isMac={isMac} />, find("status"));
  if (HAS_KERNEL) render(<ProgressBar store={store} />, find("progress"));
  render(<Tooltip store={store} main={find("main")} />, find("tooltip"));
  render(<CursorTime store={store} />, find("cursor"));
  render(<Announcer store={store} />, find("announcer"));
  render(<Help store={store} />, find("help"));
  store.signal.addEventListener("abort", () => {
    for (const part of root.querySelectorAll("[data-part]")) render(null, part);
  });
}

function followTheme(root: HTMLElement, element: HTMLElement, store: Store, frame: Frame): void {
  const retheme = () => {
    root.dataset.theme = detectTheme(element);
    const tokens = readTokens(root);
    store.repaint(tokens.theme, tokens.ground);
    frame.retheme();
  };
  retheme();
  watchTheme(retheme, store.signal);
}

/** Shows a text over the lanes for a moment. */
function hinter(element: HTMLElement, signal: AbortSignal): (text: string) => void {
  let timer = 0;
  signal.addEventListener("abort", () => clearTimeout(timer));
  return (text) => {
    element.textContent = text;
    element.hidden = false;
    clearTimeout(timer);
    timer = setTimeout(() => (element.hidden = true), 1600) as unknown as number;
  };
}

function locate(lanes: HTMLElement, store: Store, id: number | null): { x: number; y: number } | null {
  if (id === null) return null;
  const top = store.placement.top(id);
  const box = lanes.getBoundingClientRect();
  const { start, end } = store.viewport;
  const scale = store.width / (end - start);
  const left = Math.max((store.drawn.start[id] - start) * scale, 0);
  const right = Math.min((store.end(id) - start) * scale, store.width);
  if (top === null || right < 0 || left > store.width) return null;
  const y = top - store.scroll + 8;
  return y < 0 || y > store.height
    ? null
    : { x: box.left + (left + Math.max(right, left)) / 2, y: box.top + y };
}
