/** A dashboard, a comparison or a fleet in a Jupyter output: one widget of several parts. */
// Built with: HAS_KERNEL, HAS_PANELS.

import type { AnyModel } from "@anywidget/types";
import { KernelFleetHost } from "../fleet/kernel_host";
import { mountFleet } from "../fleet/mount";
import { savedHeight, widget } from "../host/anywidget";
import { KernelTimelineHost } from "../host/kernel_host";
import { partModel } from "../host/part_model";
import { followStored } from "../host/stored_output";
import { KernelTabsHost } from "../panels/kernel_host";
import { mountPanels } from "../panels/mount";
import { mountComparison } from "../view/comparison/mount_comparison";
import { mount } from "../view/mount";

function placeIn(box: HTMLElement, className: string): HTMLElement {
  const place = document.createElement("div");
  place.className = className;
  box.append(place);
  return place;
}

async function showTimeline(place: HTMLElement, model: AnyModel, signal: AbortSignal): Promise<void> {
  Object.assign(place, { tfvis: await mount(place, new KernelTimelineHost(model), signal) });
}

/** Shows the timeline that was opened last, in place of the one before. */
function showOpened(box: HTMLElement, model: AnyModel, signal: AbortSignal): void {
  let before = new AbortController();
  const show = () => {
    before.abort();
    before = new AbortController();
    box.replaceChildren();
    if (!model.get("_opened")) return;
    const ends = AbortSignal.any([signal, before.signal]);
    showTimeline(placeIn(box, "tfvis-nb"), partModel(model, "opened"), ends);
  };
  show();
  model.on("change:_opened", show);
  signal.addEventListener("abort", () => model.off("change:_opened", show));
}

export default widget("tfvis-nb-composed", async ({ model, box, signal }) => {
  const sides = (model.get("_timelines") as string[]).map((name) => partModel(model, name));
  const isFleet = sides.length === 0;
  const first = placeIn(box, isFleet ? "tfvis-nb-fleet" : "tfvis-nb");
  if (isFleet) showOpened(placeIn(box, ""), model, signal);
  const panels = placeIn(box, "tfvis-nb-panels");
  panels.style.marginTop = "6px";
  const tabs = partModel(model, "panels");
  mountPanels(panels, new KernelTabsHost(tabs, signal), signal, savedHeight(tabs));
  if (isFleet) {
    const map = partModel(model, "map");
    followStored(map, () => {}, signal);
    return mountFleet(first, new KernelFleetHost(map, signal), signal);
  }
  showOpened(placeIn(box, ""), model, signal);
  if (sides.length === 1) return showTimeline(first, sides[0], signal);
  await mountComparison(
    first,
    sides.map((side) => new KernelTimelineHost(side, sides[0])),
    signal,
  );
});
