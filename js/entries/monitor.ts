/** The widget entry of the monitor: a session in a Jupyter output, told of by the kernel's model. */

import type { AnyModel } from "@anywidget/types";
import type { Command, DownloadFormat, MonitorHost, MonitorState, NamedFile, Opened } from "../monitor/host";
import { mountMonitor } from "../monitor/mount_monitor";

/** How often the kernel is told that somebody looks; it stops looking into the file when it hears nothing. */
const SIGN_OF_LIFE_MS = 30_000;
/** A height that is being dragged reaches the kernel once, this long after the last change. */
const PAUSE_MS = 150;

const GONE =
  "The kernel that showed this has ended or was restarted. Run the cell again to go on; a job in another process records on.";

interface Reply {
  kind?: string;
  id?: string;
  error?: string;
  /** Of a file. */
  name?: string;
}

class KernelHost implements MonitorHost {
  readonly who = "kernel";
  readonly patience =
    "The kernel is busy. It was asked, and answers when it can: at the latest when the cells that run have ended.";
  #text = "";
  #state: MonitorState | null = null;
  #isGone = false;

  constructor(
    readonly model: AnyModel,
    readonly signal: AbortSignal,
  ) {
    this.#signs();
  }

  state(): MonitorState | null {
    const text: string = this.model.get("_state") || "";
    if (text !== this.#text) {
      this.#text = text;
      this.#state = text ? (JSON.parse(text) as MonitorState) : null;
    }
    return this.#state;
  }

  trouble(): string | null {
    return this.#isGone ? GONE : null;
  }

  watch(changed: () => void, signal: AbortSignal): void {
    const came = () => {
      this.#isGone = false;
      changed();
    };
    const gone = () => {
      this.#isGone = true;
      changed();
    };
    this.model.on("change:_state", came);
    this.model.on("comm_live_update", gone);
    signal.addEventListener("abort", () => {
      this.model.off("change:_state", came);
      this.model.off("comm_live_update", gone);
    });
  }

  async command(command: Command): Promise<void> {
    await this.#ask("command", { command });
  }

  async open(trace: number): Promise<Opened> {
    const { buffers } = await this.#ask("open", { trace });
    return { drawn: buffers[0], details: async () => buffers[1] };
  }

  download(trace: number, format: DownloadFormat): Promise<NamedFile> {
    return this.#file("download", { trace, format }, `trace-${trace}.${format}`);
  }

  save(): Promise<NamedFile> {
    return this.#file("save", {}, "session.tfvis");
  }

  async #file(kind: string, content: Record<string, unknown>, name: string): Promise<NamedFile> {
    const { reply, buffers } = await this.#ask(kind, content);
    return { name: reply.name ?? name, content: new Blob(buffers as BlobPart[]) };
  }

  /** While one sign has not been answered no other is sent: a busy kernel would find them all when it is idle. */
  async #signs(): Promise<void> {
    while (!this.signal.aborted) {
      await this.#ask("watch", {}).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, SIGN_OF_LIFE_MS));
    }
  }

  /** There is no limit of time: a kernel that runs a cell may answer hours later, and does what it was asked. */
  #ask(kind: string, content: Record<string, unknown>): Promise<{ reply: Reply; buffers: Uint8Array[] }> {
    // Views of one model hear each other's replies.
    const id = `${Math.random()}`;
    if (this.#isGone) return Promise.reject(new Error("the kernel is gone"));
    return new Promise((resolve, reject) => {
      const replied = (reply: Reply, views: DataView[]) => {
        if (reply.kind !== kind || reply.id !== id) return;
        this.model.off("msg:custom", replied);
        if (reply.error) return reject(new Error(reply.error));
        const buffers = views.map((view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
        resolve({ reply, buffers });
      };
      this.signal.addEventListener("abort", () => this.model.off("msg:custom", replied), { once: true });
      this.model.on("msg:custom", replied);
      this.model.send({ kind, id, ...content });
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
    box.className = "tfvis-nb-monitor";
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
    const store = mountMonitor(box, new KernelHost(model, view.signal), view.signal, height);
    const resized = () => store.emit();
    model.on("change:height", resized);
    view.signal.addEventListener("abort", () => model.off("change:height", resized));
    return () => view.abort();
  },
};
