/** Whether anybody still answers a model: a kernel restarts, ends or dies, and a server's process ends. */

import type { AnyModel } from "@anywidget/types";

const KERNEL_ENDED = "the kernel has ended; run the cell again";

/** Statuses of a kernel in JupyterLab after which it has none of its widgets any more. */
const ENDED = ["restarting", "autorestarting", "terminating", "dead"];

interface Signal<T> {
  connect(slot: (sender: unknown, argument: T) => void): void;
}

/** The part of the widget managers of JupyterLab and Notebook 7 that is used here; other hosts may lack it. */
interface Manager {
  kernel?: { statusChanged: Signal<string>; disposed: Signal<void> } | null;
}

const NEVER = new AbortController().signal;
const ends = new WeakMap<AnyModel, AbortSignal>();
/** By widget: a view that is opened after the end must hear of it as well. */
const widgets = new Map<string, AbortController>();

/** Aborts when nobody answers the model any more; its reason is an Error for the user. */
export function endOf(model: AnyModel): AbortSignal {
  return ends.get(model) ?? NEVER;
}

export function setEnd(model: AnyModel, end: AbortSignal): void {
  ends.set(model, end);
}

/** Have `endOf` follow the kernel of a widget's model. */
export function followKernel(model: AnyModel): void {
  const id: string = model.get("_stored");
  let end = widgets.get(id);
  const ended = () => end?.abort(new Error(KERNEL_ENDED));
  if (!end) {
    end = new AbortController();
    widgets.set(id, end);
    // Widget managers report restarts only.
    const kernel = (model.widget_manager as Manager | undefined)?.kernel;
    kernel?.statusChanged.connect((_, status) => ENDED.includes(status) && ended());
    kernel?.disposed.connect(ended);
  }
  setEnd(model, end.signal);
  model.on("comm_live_update", ended);
}
