/** The anywidget entry: the timeline in a Jupyter output, its data and options held by the kernel's model. */

import type { AnyModel } from "@anywidget/types";
import type { ExportFormat, Host, Options } from "./host";
import { mount } from "./view/mount";

/** Changes that come in quick succession (a dragged range) reach the kernel once, this long after the last. */
const PAUSE_MS = 150;
const EXPORT_LIMIT_MS = 120_000;

/** Names of the model's traits where they differ from the option's. */
const TRAITS: Partial<Record<keyof Options, string>> = { selection: "_selection" };

const trait = (key: keyof Options) => TRAITS[key] ?? key;

interface ExportAnswer {
  kind?: string;
  id?: number;
  name?: string;
  error?: string;
}

class LiveHost implements Host {
  readonly exports: readonly ExportFormat[] = ["html", "json"];
  #timer = 0;
  #exported = 0;

  constructor(readonly model: AnyModel) {}

  async drawn(): Promise<Uint8Array> {
    return this.#bytes("_drawn");
  }

  /** The kernel sends these after the first picture; asking helps where it could not know of the view. */
  details(signal: AbortSignal): Promise<Uint8Array> {
    const arrived = () => (this.model.get("_details") as DataView | undefined)?.byteLength;
    if (arrived()) return Promise.resolve(this.#bytes("_details"));
    return new Promise((resolve) => {
      const changed = () => {
        if (!arrived()) return;
        this.model.off("change:_details", changed);
        resolve(this.#bytes("_details"));
      };
      this.model.on("change:_details", changed);
      signal.addEventListener("abort", () => this.model.off("change:_details", changed), { once: true });
      this.model.send({ kind: "details" });
    });
  }

  /** A binary trait; hosts hand it over as a view of a buffer that may be larger. */
  #bytes(name: string): Uint8Array {
    const view: DataView | undefined = this.model.get(name);
    if (!view?.byteLength)
      throw new Error("The notebook handed over no data. Run the cell again; a closed widget keeps none.");
    return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  }

  get<K extends keyof Options>(key: K): Options[K] {
    return this.model.get(trait(key));
  }

  set<K extends keyof Options>(key: K, value: Options[K]): void {
    this.model.set(trait(key), value);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.model.save_changes(), PAUSE_MS) as unknown as number;
  }

  watch<K extends keyof Options>(key: K, changed: (value: Options[K]) => void, signal: AbortSignal): void {
    const event = `change:${trait(key)}`;
    const listener = () => changed(this.get(key));
    this.model.on(event, listener);
    signal.addEventListener("abort", () => this.model.off(event, listener));
  }

  export(format: ExportFormat, signal: AbortSignal): Promise<{ name: string; bytes: Uint8Array }> {
    const id = ++this.#exported;
    return new Promise((resolve, reject) => {
      const answered = (message: ExportAnswer, buffers: DataView[]) => {
        if (message.kind !== "export" || message.id !== id) return;
        done();
        const view = buffers[0];
        if (message.error || !view) reject(new Error(message.error ?? "the kernel sent no file"));
        else
          resolve({
            name: message.name ?? `trace.${format}`,
            bytes: new Uint8Array(view.buffer, view.byteOffset, view.byteLength),
          });
      };
      const timer = setTimeout(() => {
        done();
        reject(new Error("the kernel is busy and did not answer; try again when it is idle"));
      }, EXPORT_LIMIT_MS);
      const done = () => {
        clearTimeout(timer);
        this.model.off("msg:custom", answered);
      };
      signal.addEventListener("abort", done, { once: true });
      this.model.on("msg:custom", answered);
      this.model.send({ kind: "export", format, id });
    });
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
    box.className = "tfvis-nb";
    el.append(box);
    mount(box, new LiveHost(model), view.signal, { ownsPage: false }).then((mounted) => {
      Object.assign(box, { tfvis: mounted });
    });
    return () => view.abort();
  },
};
