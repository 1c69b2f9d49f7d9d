/** The timeline's data and options as a Jupyter kernel's model holds them. */

import type { AnyModel } from "@anywidget/types";
import { ViewTraits } from "./anywidget";
import type { Answer, ExportFormat, Host, Options, Pair, Question } from "./host";
import { endOf } from "./kernel_end";
import { bytesIn, requestKernel, send } from "./kernel_messages";
import { followStored, type Remedy } from "./stored_output";

const EXPORT_LIMIT_MS = 120_000;

/** Names of the model's traits that differ from the option's. */
const TRAITS: Partial<Record<keyof Options, string>> = {
  selection: "_selection",
  annotations: "_annotations",
  view: "_view",
  views: "_views",
  tracks: "_tracks",
};

const REMEDIES: Record<Remedy, string> = {
  "": "",
  rerun: "The saved notebook lacks your changes. To keep them, run the cell again or export a page",
  export: "Your changes are not saved. To keep them, export a page",
  no: "Named views of a dataset are not saved; they last as long as the kernel",
};

const trait = (key: keyof Options) => TRAITS[key] ?? key;

export class KernelTimelineHost implements Host {
  readonly exports: readonly ExportFormat[] = ["html", "json", "csv"];
  readonly #traits: ViewTraits;
  #remedy: Remedy = "";

  /** `stored` is the model of the part that the notebook's file keeps. */
  constructor(
    readonly model: AnyModel,
    readonly stored = model,
  ) {
    this.#traits = new ViewTraits(model);
  }

  get end(): AbortSignal {
    return endOf(this.model);
  }

  get trouble(): string {
    const { aborted, reason } = this.end;
    if (!aborted) return REMEDIES[this.#remedy];
    const { message } = reason as Error;
    return `${message[0].toUpperCase()}${message.slice(1)}. Until then, your changes are not saved`;
  }

  watchTrouble(changed: () => void, signal: AbortSignal): void {
    this.end.addEventListener("abort", changed, { signal });
    followStored(
      this.stored,
      (remedy) => {
        this.#remedy = remedy;
        changed();
      },
      signal,
    );
  }

  get link(): string {
    return this.model.get("_link") ?? "";
  }

  get pair(): Partial<Pair> {
    return this.model.get("_pair") ?? {};
  }

  async drawn(): Promise<Uint8Array> {
    return bytesIn(this.model, "_drawn");
  }

  /** The kernel sends these after the first picture; asking helps if it did not know of the view. */
  details(signal: AbortSignal): Promise<Uint8Array> {
    const arrived = () => (this.model.get("_details") as DataView | undefined)?.byteLength;
    if (arrived()) return Promise.resolve(bytesIn(this.model, "_details"));
    return new Promise((resolve, reject) => {
      const { end } = this;
      const ended = () => {
        off();
        reject(end.reason);
      };
      const off = () => {
        this.model.off("change:_details", changed);
        this.model.off("msg:custom", failed);
        end.removeEventListener("abort", ended);
      };
      const changed = () => {
        if (!arrived()) return;
        off();
        resolve(bytesIn(this.model, "_details"));
      };
      const failed = ({ kind, error }: { kind?: string; error?: string }) => {
        if (kind !== "details" || !error) return;
        off();
        reject(new Error(error));
      };
      end.addEventListener("abort", ended);
      this.model.on("change:_details", changed);
      this.model.on("msg:custom", failed);
      signal.addEventListener("abort", off, { once: true });
      send(this.model, { kind: "details" });
    });
  }

  get<K extends keyof Options>(key: K): Options[K] {
    return this.model.get(trait(key));
  }

  set<K extends keyof Options>(key: K, value: Options[K]): void {
    this.#traits.set(trait(key), value);
  }

  watch<K extends keyof Options>(
    key: K,
    changed: (value: Options[K], isPython: boolean) => void,
    signal: AbortSignal,
  ): void {
    // Two timelines of one model have views of their own: both follow Python's wishes only.
    this.#traits.watch(key === "view" ? "_wanted_view" : trait(key), changed, signal);
  }

  export(format: ExportFormat, signal: AbortSignal): Promise<{ name: string; bytes: Uint8Array }> {
    const late = AbortSignal.timeout(EXPORT_LIMIT_MS);
    this.#traits.send();
    const made = requestKernel(
      this.model,
      { kind: "export", format },
      AbortSignal.any([signal, late]),
      ({ name }, [bytes]) => (bytes ? { name: name ?? `trace.${format}`, bytes } : undefined),
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
    return requestKernel(this.model, { kind: "rest", part }, signal, ({ of = 1 }, [bytes]) => {
      chunks.push(bytes);
      progress(chunks.length, of);
      return chunks.length < of ? undefined : concatBytes(chunks);
    });
  }

  ask(question: Question, signal: AbortSignal): Promise<Answer> {
    return requestKernel(this.model, { kind: "ask", question }, signal, ({ answer }, buffers) => ({
      answer,
      buffers,
    }));
  }
}

function concatBytes(chunks: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
