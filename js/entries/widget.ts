/** The timeline in a Jupyter output, or two that are compared; data and options are those of the kernel's model. */
// Built with: HAS_KERNEL, HAS_PANELS.

import { widget } from "../host/anywidget";
import { KernelTimelineHost } from "../host/kernel_host";
import { mountComparison } from "../view/comparison/mount_comparison";
import { mount } from "../view/mount";

export default widget("tfvis-nb", async ({ model, box, signal }) => {
  const host = new KernelTimelineHost(model);
  const other = await host.other();
  if (other) await mountComparison(box, [host, other], signal);
  else Object.assign(box, { tfvis: await mount(box, host, signal) });
});
