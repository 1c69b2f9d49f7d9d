/** One chart in a Jupyter output, with neither a timeline nor tabs. */

import { mountChart } from "../charts/mount";
import { widget } from "../host/anywidget";
import { requestBokeh } from "../host/kernel_messages";

export default widget("tfvis-nb-chart", ({ model, box, signal }) => {
  const host = {
    link: model.get("_link") as string,
    bokehVersion: model.get("_bokeh") as string,
    bokeh: () => requestBokeh(model, signal),
  };
  mountChart(box, host, model.get("title"), JSON.parse(model.get("_item")), signal);
});
