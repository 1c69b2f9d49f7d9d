/** The anywidget entry of one chart in a cell, with neither a timeline nor tabs. */

import type { AnyModel } from "@anywidget/types";
import { mountChart } from "../charts/mount";
import { askBokeh } from "../host/kernel_bokeh";

interface RenderProps {
  model: AnyModel;
  el: HTMLElement;
  /** Given by anywidget 0.11 and later; other hosts call what render returns. */
  signal?: AbortSignal;
}

export default {
  render({ model, el, signal }: RenderProps): () => void {
    const view = new AbortController();
    signal?.addEventListener("abort", () => view.abort());
    const box = document.createElement("div");
    box.className = "tfvis-nb-chart";
    el.append(box);
    const host = {
      link: model.get("_link") as string,
      bokehVersion: model.get("_bokeh") as string,
      bokeh: () => askBokeh(model, view.signal),
    };
    mountChart(box, host, model.get("title"), JSON.parse(model.get("_item")), view.signal);
    return () => view.abort();
  },
};
