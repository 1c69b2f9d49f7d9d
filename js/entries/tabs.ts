/** The anywidget entry of a dashboard's tabs: their contents are pushed by the kernel as they are computed. */

import type { AnyModel } from "@anywidget/types";
import { joinLink } from "../host/channel";
import { askBokeh } from "../host/kernel_bokeh";
import type { TabContents } from "../panels/blocks";
import type { PanelsHost } from "../panels/host";
import { mountPanels } from "../panels/mount";

/** A height that is being dragged reaches the kernel once, this long after the last change. */
const PAUSE_MS = 150;

/** A timeline that cannot be shown says nothing. */
const LATEST_START_MS = 20_000;

class KernelHost implements PanelsHost {
  readonly #read = new Map<number, TabContents>();

  constructor(
    readonly model: AnyModel,
    readonly signal: AbortSignal,
  ) {
    this.#startLater();
  }

  /** Have the tabs computed, once the timeline is drawn: the two would take each other's time. */
  #startLater(): void {
    const waiting = new AbortController();
    this.signal.addEventListener("abort", () => waiting.abort());
    const start = () => {
      waiting.abort();
      clearTimeout(timer);
      this.model.send({ kind: "start" });
    };
    // The first thing that a timeline says is what it shows.
    joinLink(this.link, ({ kind }) => kind === "view" && start(), waiting.signal);
    const timer = setTimeout(start, LATEST_START_MS);
    this.signal.addEventListener("abort", () => clearTimeout(timer));
  }

  get titles(): readonly string[] {
    return this.model.get("_titles");
  }

  get link(): string {
    return this.model.get("_link");
  }

  get bokehVersion(): string {
    return this.model.get("_bokeh");
  }

  tab(place: number): TabContents | null {
    const error: string | undefined = (this.model.get("_errors") as Record<string, string>)[place];
    if (error) throw new Error(error);
    const read = this.#read.get(place);
    const text: string = read ? "" : this.model.get(`_tab_${place}`);
    if (!text) return read ?? null;
    const contents = JSON.parse(text) as TabContents;
    this.#read.set(place, contents);
    return contents;
  }

  watch(changed: () => void, signal: AbortSignal): void {
    this.model.on("change", changed);
    signal.addEventListener("abort", () => this.model.off("change", changed));
  }

  bokeh(): Promise<Uint8Array> {
    return askBokeh(this.model, this.signal);
  }
}

interface RenderProps {
  model: AnyModel;
  el: HTMLElement;
  /** Given by anywidget 0.11 and later; other hosts call what render returns. */
  signal?: AbortSignal;
}

export default {
  render({ model, el, signal }: RenderProps): () => void {
    const view = new AbortController();
    signal?.addEventListener("abort", () => view.abort());
    const box = document.createElement("div");
    box.className = "tfvis-nb-panels";
    box.style.marginTop = "6px";
    el.append(box);
    let timer = 0;
    const height = {
      read: (): number => model.get("height"),
      write: (value: number) => {
        model.set("height", value);
        clearTimeout(timer);
        timer = setTimeout(() => model.save_changes(), PAUSE_MS) as unknown as number;
      },
    };
    mountPanels(box, new KernelHost(model, view.signal), view.signal, height);
    return () => view.abort();
  },
};
