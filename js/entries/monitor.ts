/** The monitor of a session in a Jupyter output. */

import { savedHeight, widget } from "../host/anywidget";
import { MonitorHost } from "../monitor/host";
import { mountMonitor } from "../monitor/mount_monitor";

export default widget("tfvis-nb-monitor", ({ model, box, signal }) => {
  const store = mountMonitor(box, new MonitorHost(model, signal), signal, savedHeight(model));
  const redraw = () => store.emit();
  model.on("change:height", redraw);
  signal.addEventListener("abort", () => model.off("change:height", redraw));
});
