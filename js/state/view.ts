/** Restores what a timeline showed: of a page's author, or as Python wishes. */

import { NO_STEP } from "../model/types";
import type { View } from "../model/view";
import type { Store } from "./store";

const parts = (keys: Iterable<string>) => [...keys].map((key) => key.split("\0"));
const keys = (lanes: readonly string[][]) => lanes.map((lane) => lane.join("\0"));

export function viewOf(store: Store): View {
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

export function showView(store: Store, view: View): void {
  const step = store.run.steps.findIndex(({ step }) => step !== NO_STEP && step === view.step);
  if (view.step !== store.stepNumber || store.aligned) store.showStep(step < 0 ? null : step);
  store.lanes.restore(keys(view.hidden), keys(view.pinned));
  store.setPanel({ panelOpen: view.details, graphOpen: view.graph, codeOpen: view.code });
  store.setViewport({ start: view.start, end: view.end }, "view");
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
  host.watch("view", (view) => view && showView(store, view), store.signal);
}
