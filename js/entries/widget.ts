/** The anywidget entry: the timeline in a Jupyter output, its data and options held by the kernel's model. */

import type { AnyModel } from "@anywidget/types";
import type { Answer, ExportFormat, Host, Options, Pair, Question } from "../host/host";
import { mount } from "../view/mount";

/** Changes that come in quick succession (a dragged range) reach the kernel once, this long after the last. */
const PAUSE_MS = 150;
const EXPORT_LIMIT_MS = 120_000;

/** Names of the model's traits where they differ from the option's. */
const TRAITS: Partial<Record<keyof Options, string>> = { selection: "_selection" };

const trait = (key: keyof Options) => TRAITS[key] ?? key;

interface Reply {
  kind?: string;
  id?: string;
  error?: string;
  /** Of an export. */
  name?: string;
  /** Of a chunk: how many there are. */
  of?: number;
  /** Of a question. */
  answer?: unknown;
}

class LiveHost implements Host {
  readonly exports: readonly ExportFormat[] = ["html", "json", "csv"];
  #timer = 0;

  constructor(readonly model: AnyModel) {}

  get link(): string {
    return this.model.get("_link") ?? "";
  }

  get pair(): Partial<Pair> {
    return this.model.get("_pair") ?? {};
  }

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
      this.#send({ kind: "details" });
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
    const late = AbortSignal.timeout(EXPORT_LIMIT_MS);
    const made = this.#request("export", { format }, AbortSignal.any([signal, late]), ({ name }, [bytes]) =>
      bytes ? { name: name ?? `trace.${format}`, bytes } : undefined,
    );
    return new Promise((resolve, reject) => {
      made.then(resolve, reject);
      late.addEventListener("abort", () =>
        reject(new Error("the kernel is busy and did not answer; try again when it is idle")),
      );
    });
  }

  rest(
    part: "drawn" | "details",
    progress: (done: number, total: number) => void,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    return this.#request("rest", { part }, signal, ({ of = 1 }, [bytes]) => {
      chunks.push(bytes);
      progress(chunks.length, of);
      return chunks.length < of ? undefined : joined(chunks);
    });
  }

  ask(question: Question, signal: AbortSignal): Promise<Answer> {
    return this.#request("ask", { question }, signal, ({ answer }, buffers) => ({ answer, buffers }));
  }

  /** Send a message and resolve with what `receive` first makes of the messages that reply to it. */
  #request<T>(
    kind: string,
    content: Record<string, unknown>,
    signal: AbortSignal,
    receive: (reply: Reply, buffers: Uint8Array[]) => T | undefined,
  ): Promise<T> {
    // Views of one model hear each other's replies.
    const id = `${Math.random()}`;
    return new Promise((resolve, reject) => {
      const replied = (reply: Reply, views: DataView[]) => {
        if (reply.kind !== kind || reply.id !== id) return;
        const buffers = views.map((view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
        const made = reply.error ? undefined : receive(reply, buffers);
        if (!reply.error && made === undefined) return;
        this.model.off("msg:custom", replied);
        if (made === undefined) reject(new Error(reply.error));
        else resolve(made);
      };
      signal.addEventListener("abort", () => this.model.off("msg:custom", replied), { once: true });
      this.model.on("msg:custom", replied);
      this.#send({ kind, id, ...content });
    });
  }

  #send(message: Record<string, unknown>): void {
    try {
      this.model.send(message);
    } catch (error) {
      // Notebooks say no more than that they "Cannot send".
      throw new Error("the kernel has ended or is not connected; run the cell again", { cause: error });
    }
  }
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
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
    mount(box, new LiveHost(model), view.signal).then((mounted) => {
      Object.assign(box, { tfvis: mounted });
    });
    return () => view.abort();
  },
};
