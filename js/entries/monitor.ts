/** The monitor of a session in a Jupyter output. */

import { savedHeight, widget } from "../host/anywidget";
import { KernelMonitorHost } from "../monitor/kernel_host";
import { mountMonitor } from "../monitor/mount_monitor";

export default widget("tfvis-nb-monitor", ({ model, box, signal }) => {
  const store = mountMonitor(box, new KernelMonitorHost(model, signal), signal, savedHeight(model));
  const redraw = () => store.emit();
  model.on("change:height", redraw);
  signal.addEventListener("abort", () => model.off("change:height", redraw));
});
