/** The entry point for anywidget: one `render` for all widgets, which shows a view in a box and ends with it. */

import type { AnyModel } from "@anywidget/types";
import { endOf, followKernel } from "./kernel_end";

/** One view of a widget: its model, the element to fill, and a signal that aborts when the view is closed. */
interface WidgetView {
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
      followKernel(model);
      show({ model, box, signal: view.signal });
      return () => view.abort();
    },
  };
}

/** Changes in quick succession, as while a size is dragged, reach the kernel once, this long after the last. */
const SAVE_DELAY_MS = 150;

/** The view that sets a trait at the moment. Models report every change at once, including those of the view itself. */
let writer: ViewTraits | null = null;

/** The traits of a model as one view sets them: it hears only changes that others make, and who made them. */
export class ViewTraits {
  /** Values that the kernel does not have yet, and what protects each of them. */
  readonly #unsent = new Map<string, { value: unknown; protect: () => void }>();
  #timer = 0;

  constructor(readonly model: AnyModel) {}

  /** Sets a trait at once and sends it to the kernel a little later. */
  set(trait: string, value: unknown): void {
    this.#protect(trait, value);
    this.#write(trait, value);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.send(), SAVE_DELAY_MS) as unknown as number;
  }

  /** Sends the kernel the latest values. */
  send(): void {
    clearTimeout(this.#timer);
    for (const [trait, { protect }] of this.#unsent) this.model.off(`change:${trait}`, protect);
    this.#unsent.clear();
    if (!endOf(this.model).aborted) this.model.save_changes();
  }

  /** Calls `changed` when Python, or another view of this model, has set `trait`. */
  watch<T>(trait: string, changed: (value: T, isPython: boolean) => void, signal: AbortSignal): void {
    const listener = () => {
      const isEcho = writer === null && this.#unsent.has(trait);
      if (writer !== this && !isEcho) changed(this.model.get(trait), writer === null);
    };
    this.model.on(`change:${trait}`, listener);
    signal.addEventListener("abort", () => this.model.off(`change:${trait}`, listener));
  }

  /** ipywidgets 8 echoes each value that it receives: an echo of an earlier value must not undo a later one. */
  #protect(trait: string, value: unknown): void {
    const unsent = this.#unsent.get(trait);
    if (unsent) {
      unsent.value = value;
      return;
    }
    const entry = { value, protect: () => writer === null && this.#write(trait, entry.value) };
    this.#unsent.set(trait, entry);
    this.model.on(`change:${trait}`, entry.protect);
  }

  #write(trait: string, value: unknown): void {
    const outer = writer;
    writer = this;
    try {
      this.model.set(trait, value);
    } finally {
      writer = outer;
    }
  }
}

/** The height of a view (CSS px), which its model keeps. */
export function savedHeight(model: AnyModel): { read: () => number; write: (height: number) => void } {
  const traits = new ViewTraits(model);
  return { read: () => model.get("height"), write: (height) => traits.set("height", height) };
}
