/** Restores a timeline's view: the page author's, or one that Python sets. */

import { eventCount } from "../model/lod/merged";
import { NO_STEP, type Selection } from "../model/types";
import { MOST_VIEWS, type NamedView, type SavedView, type View } from "../model/view";
import type { Store } from "./store";

const parts = (keys: Iterable<string>) => [...keys].map((key) => key.split("\0"));
const keys = (lanes: readonly string[][]) => lanes.map((lane) => lane.join("\0"));

function viewOf(store: Store): View {
  const { start, end } = store.viewport;
  return {
    start,
    end,
    step: store.stepNumber,
    hidden: parts(store.lanes.hidden),
    pinned: parts(store.lanes.pinned),
    details: store.panelOpen,
    graph: store.graphOpen,
    code: store.codeOpen,
  };
}

function showView(store: Store, view: View): void {
  const step = store.run.steps.findIndex(({ step }) => step !== NO_STEP && step === view.step);
  if (view.step !== store.stepNumber || store.aligned) store.showStep(step < 0 ? null : step);
  store.lanes.restore(keys(view.hidden), keys(view.pinned));
  store.setPanel({ panelOpen: view.details, graphOpen: view.graph, codeOpen: view.code });
  store.setViewport({ start: view.start, end: view.end }, "view");
}

/** The current settings. Aligned steps have times of their own, so they have no view. */
export function savedView(store: Store): SavedView {
  const { host } = store;
  return {
    ...((store.aligned && host.get("view")) || viewOf(store)),
    group_by: host.get("group_by"),
    color_by: host.get("color_by"),
    lane_filter: host.get("lane_filter"),
    selection: host.get("selection"),
  };
}

/** Apply the settings of a link or a page, as far as this trace has them. */
export function showSaved(store: Store, view: SavedView): void {
  for (const key of ["group_by", "color_by", "lane_filter"] as const)
    if (store.host.get(key) !== view[key]) store.setOption(key, view[key]);
  store.moment = null;
  store.selectInRun(isOf(store, view.selection) ? view.selection : null);
  showView(store, view);
}

/** Whether the selected events are in this trace. */
export function isOf({ run }: Store, selection: Selection | null): boolean {
  const [numbers, count] =
    selection && "events" in selection
      ? [selection.events, eventCount(run)]
      : [selection?.lanes ?? [], run.lanes.length];
  return numbers.every((number) => number >= 0 && number < count);
}

/** Save the view under a name, replacing a view of that name. Returns a message. */
export function nameView(store: Store, name: string): "saved" | "replaced" | null {
  const views = store.host.get("views");
  const others = views.filter((each) => each.name !== name);
  if (others.length >= MOST_VIEWS) return null;
  setViews(store, [...others, { name, ...savedView(store) }]);
  return others.length < views.length ? "replaced" : "saved";
}

export function setViews(store: Store, views: readonly NamedView[]): void {
  store.host.set("views", views);
  store.emit("panel");
}

/** Restore the view that the host has, and tell it of each other one. Aligned steps have times of their own. */
export function keepView(store: Store): void {
  const { host } = store;
  const given = host.get("view");
  if (given) showView(store, given);
  let known = JSON.stringify(viewOf(store));
  store.on(["viewport", "layout", "panel"], () => {
    if (store.aligned) return;
    const view = viewOf(store);
    const now = JSON.stringify(view);
    if (now === known) return;
    known = now;
    host.set("view", view);
  });
  if (!HAS_KERNEL) return;
  // After a selection that comes with it, which would be revealed elsewhere.
  host.watch("view", (view) => view && queueMicrotask(() => showView(store, view)), store.signal);
  host.watch("views", () => store.emit("panel"), store.signal);
}
