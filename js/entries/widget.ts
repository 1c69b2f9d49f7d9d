/** The timeline in a Jupyter output; its data and options are those of the kernel's model. */
// Built with: HAS_KERNEL.

import { widget } from "../host/anywidget";
import { KernelTimelineHost } from "../host/kernel_host";
import { mount } from "../view/mount";

export default widget("tfvis-nb", async ({ model, box, signal }) => {
  Object.assign(box, { tfvis: await mount(box, new KernelTimelineHost(model), signal) });
});
