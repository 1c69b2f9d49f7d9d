/** A dashboard or a comparison in a Jupyter output: one widget of several parts. */
// Built with: HAS_KERNEL, HAS_PANELS.

import type { AnyModel } from "@anywidget/types";
import { savedHeight, widget } from "../host/anywidget";
import { KernelTimelineHost } from "../host/kernel_host";
import { partModel } from "../host/part_model";
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

/** Shows the timeline of the last prediction, in place of the one before. */
function showPredicted(box: HTMLElement, model: AnyModel, signal: AbortSignal): void {
  let before = new AbortController();
  const show = () => {
    before.abort();
    before = new AbortController();
    box.querySelector(":scope > .predicted")?.remove();
    if (!model.get("_predicted")) return;
    const place = placeIn(box, "tfvis-nb predicted");
    showTimeline(place, partModel(model, "predicted"), AbortSignal.any([signal, before.signal]));
  };
  show();
  model.on("change:_predicted", show);
  signal.addEventListener("abort", () => model.off("change:_predicted", show));
}

export default widget("tfvis-nb-composed", async ({ model, box, signal }) => {
  const timelines = placeIn(box, "tfvis-nb");
  const panels = placeIn(box, "tfvis-nb-panels");
  panels.style.marginTop = "6px";
  const tabs = partModel(model, "panels");
  mountPanels(panels, new KernelTabsHost(tabs, signal), signal, savedHeight(tabs));
  showPredicted(box, model, signal);
  const sides = (model.get("_timelines") as string[]).map((name) => partModel(model, name));
  if (sides.length === 1) await showTimeline(timelines, sides[0], signal);
  else
    await mountComparison(
      timelines,
      sides.map((side) => new KernelTimelineHost(side)),
      signal,
    );
});
