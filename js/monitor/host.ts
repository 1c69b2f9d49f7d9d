/**
 * What the monitor asks of whoever has the session: a Jupyter kernel, or the server of `tfvis-nb serve`
 * (server_host.ts). Times are epoch milliseconds of the machine that has the file, durations nanoseconds.
 */

import type { AnyModel } from "@anywidget/types";
import { endOf } from "../host/kernel_end";
import { type Reply, requestKernel } from "../host/kernel_messages";
import type { Command, MonitorMessage } from "../host/messages";
import type { Notes } from "../host/notes";
import type { MonitorState } from "../model/wire/schema";

/** Commands with a rule; a signature of null stands for all. */
export type RuleCommand = Extract<Command, { do: `trace_${"every" | "all" | "slow"}` | "stop_tracing" }>;

export type DownloadFormat = Extract<MonitorMessage, { kind: "download" }>["format"];

export interface Opened {
  /** The gzip'd container of the drawn columns. */
  drawn: Uint8Array;
  /** The container of the details panel's columns. */
  details(): Promise<Uint8Array>;
}

export interface NamedFile {
  name: string;
  content: Blob;
}

/** How often the kernel hears that the monitor is open; without that it stops reading the file. */
const SIGN_OF_LIFE_S = 30;

const KERNEL_GONE_MESSAGE =
  "The kernel has ended or was restarted. Run the cell again to continue; a job in another process keeps recording.";

/** Everything that asks rejects with a readable message. */
export class MonitorHost {
  /** Who answers: "kernel" or "server". */
  readonly source: string = "kernel";
  /** Message shown while an answer takes long. */
  readonly patience: string =
    "The kernel is busy. It answers when it can, at the latest when the running cells have ended.";
  #text = "";
  #state: MonitorState | null = null;

  constructor(
    readonly model: AnyModel,
    readonly signal: AbortSignal,
  ) {
    this.signs();
  }

  /** Null until there is one. */
  state(): MonitorState | null {
    const text: string = this.model.get("_state") || "";
    if (text !== this.#text) {
      this.#text = text;
      this.#state = text ? (JSON.parse(text) as MonitorState) : null;
    }
    return this.#state;
  }

  /** Why the state is no longer that of the present, in words; null while it is. */
  trouble(): string | null {
    return endOf(this.model).aborted ? KERNEL_GONE_MESSAGE : null;
  }

  /** Call `changed` whenever the state or the trouble is another. */
  watch(changed: () => void, signal: AbortSignal): void {
    this.model.on("change:_state", changed);
    signal.addEventListener("abort", () => this.model.off("change:_state", changed));
    endOf(this.model).addEventListener("abort", changed, { signal });
  }

  async command(command: Command): Promise<void> {
    await this.ask({ kind: "command", command });
  }

  async open(trace: number): Promise<Opened> {
    const { buffers } = await this.ask({ kind: "open", trace });
    return { drawn: buffers[0], details: async () => buffers[1] };
  }

  /** Annotations and views that the session has of a trace. */
  async notes(trace: number): Promise<Notes> {
    const { reply } = await this.ask({ kind: "notes", trace });
    return reply as unknown as Notes;
  }

  async annotate(trace: number, { annotations, views }: Notes): Promise<void> {
    await this.ask({ kind: "annotate", trace, annotations, views });
  }

  /** The traces that a view of this monitor showed before. */
  opened(): number[] {
    return this.model.get("_opened") ?? [];
  }

  /** Remember the traces that are shown. */
  remember(opened: number[]): void {
    this.model.set("_opened", opened);
    this.model.save_changes();
  }

  /** An address that shows traces in a tab of their own; null in a notebook. */
  address(_traces: number[]): string | null {
    return null;
  }

  download(trace: number, format: DownloadFormat): Promise<NamedFile> {
    return this.#file({ kind: "download", trace, format }, `trace-${trace}.${format}`);
  }

  /** A copy of the whole session. */
  save(): Promise<NamedFile> {
    return this.#file({ kind: "save" }, "session.tfvis");
  }

  async #file(message: MonitorMessage, name: string): Promise<NamedFile> {
    const { reply, buffers } = await this.ask(message);
    return { name: reply.name ?? name, content: new Blob(buffers as BlobPart[]) };
  }

  /** While one sign has not been answered no other is sent: a busy kernel would find them all when it is idle. */
  protected async signs(): Promise<void> {
    const end = endOf(this.model);
    while (!this.signal.aborted && !end.aborted) {
      const answer = await this.ask({ kind: "watch" }).catch(() => null);
      const seconds = answer?.reply.again_s ?? SIGN_OF_LIFE_S;
      await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
    }
  }

  protected ask(message: MonitorMessage): Promise<{ reply: Reply; buffers: Uint8Array[] }> {
    return requestKernel(this.model, message, this.signal, (reply, buffers) => ({ reply, buffers }));
  }
}
