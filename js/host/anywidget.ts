/** The entry point for anywidget: one `render` for all widgets, which shows a view in a box and ends with it. */

import type { AnyModel } from "@anywidget/types";

/** One view of a widget: its model, the element to fill, and a signal that aborts when the view is closed. */
export interface WidgetView {
  model: AnyModel;
  box: HTMLElement;
  signal: AbortSignal;
}

interface RenderProps {
  model: AnyModel;
  el: HTMLElement;
  /** Given by anywidget 0.11 and later; other hosts call what render returns. */
  signal?: AbortSignal;
}

/** The default export of a widget's bundle; `show` fills a box of class `className`. */
export function widget(className: string, show: (view: WidgetView) => void) {
  return {
    render({ model, el, signal }: RenderProps): () => void {
      const view = new AbortController();
      signal?.addEventListener("abort", () => view.abort());
      const box = document.createElement("div");
      box.className = className;
      // Hides the picture that the notebook's file keeps: see display/stored_output.py.
      box.classList.add(`tfvis-live-${model.get("_stored")}`);
      el.append(box);
      show({ model, box, signal: view.signal });
      return () => view.abort();
    },
  };
}

/** Changes in quick succession, as while a size is dragged, reach the kernel once, this long after the last. */
const SAVE_DELAY_MS = 150;

/** Sets traits of a model at once and sends them to the kernel a little later. */
export function delayedSave(model: AnyModel): (trait: string, value: unknown) => void {
  let timer = 0;
  return (trait, value) => {
    model.set(trait, value);
    clearTimeout(timer);
    timer = setTimeout(() => model.save_changes(), SAVE_DELAY_MS) as unknown as number;
  };
}

/** The height of a view (CSS px), which its model keeps. */
export function savedHeight(model: AnyModel): { read: () => number; write: (height: number) => void } {
  const save = delayedSave(model);
  return { read: () => model.get("height"), write: (height) => save("height", height) };
}
