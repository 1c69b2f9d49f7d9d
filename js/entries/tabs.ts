/** The tabs of a dashboard in a Jupyter output. */

import { savedHeight, widget } from "../host/anywidget";
import { KernelTabsHost } from "../panels/kernel_host";
import { mountPanels } from "../panels/mount";

export default widget("tfvis-nb-panels", ({ model, box, signal }) => {
  box.style.marginTop = "6px";
  mountPanels(box, new KernelTabsHost(model, signal), signal, savedHeight(model));
});
