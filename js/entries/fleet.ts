/** The heat map of a fleet in a Jupyter output; the kernel has the dataset. */

import { KernelFleetHost } from "../fleet/kernel_host";
import { mountFleet } from "../fleet/mount";
import { widget } from "../host/anywidget";

export default widget("tfvis-nb-fleet", ({ model, box, signal }) => {
  mountFleet(box, new KernelFleetHost(model, signal), signal);
});
