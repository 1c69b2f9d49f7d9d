/** A widget's model over a WebSocket: the server's process has the widget, as a kernel would. */

import type { AnyModel } from "@anywidget/types";
import { setEnd } from "./kernel_end";

/** The first message: the shown widget, or why there is none. See tfvis_nb/file_view/worker.py. */
export interface OpenedFile {
  view: "timeline" | "monitor";
  model: ServerModel;
}

interface Message {
  method: "open" | "update" | "custom" | "refused";
  /** Lengths of the binary parts, which follow the JSON. */
  buffers: number[];
  view?: OpenedFile["view"];
  state?: Record<string, unknown>;
  /** Which values of the state the binary parts are. */
  buffer_paths?: [name: string][];
  content?: Record<string, unknown>;
  sentence?: string;
}

type Listener = (...values: never[]) => void;

export const CONNECTION_LOST = "the connection to the server is lost; close this tab and open the file again";

/** Sends the path of a file, and resolves with its model. Rejects with the reason why it cannot be shown. */
export function openFile(socket: WebSocket, path: string, signal: AbortSignal): Promise<OpenedFile> {
  socket.binaryType = "arraybuffer";
  socket.addEventListener("open", () => socket.send(JSON.stringify({ path })), { signal });
  signal.addEventListener("abort", () => socket.close());
  return new Promise((resolve, reject) => {
    let model: ServerModel | null = null;
    const received = ({ data }: MessageEvent<ArrayBuffer>) => {
      const [message, buffers] = unpack(data);
      if (message.method === "refused") {
        const sentence = message.sentence ?? CONNECTION_LOST;
        reject(new Error(sentence));
        model?.end(sentence);
      } else if (model) model.receive(message, buffers);
      else {
        model = new ServerModel(socket);
        model.receive(message, buffers);
        resolve({ view: message.view ?? "timeline", model });
      }
    };
    const closed = () => {
      reject(new Error(CONNECTION_LOST));
      model?.end(CONNECTION_LOST);
    };
    socket.addEventListener("message", received, { signal });
    socket.addEventListener("close", closed, { signal });
  });
}

function unpack(data: ArrayBuffer): [message: Message, buffers: DataView[]] {
  const length = new DataView(data).getUint32(0, true);
  const message = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length))) as Message;
  let at = 4 + length;
  const buffers = message.buffers.map((size) => {
    at += size;
    return new DataView(data, at - size, size);
  });
  return [message, buffers];
}

/** What `AnyModel` is, as far as our hosts use it. */
export class ServerModel {
  readonly #state = new Map<string, unknown>();
  readonly #changed = new Set<string>();
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #end = new AbortController();

  constructor(readonly socket: WebSocket) {
    setEnd(this.asModel, this.#end.signal);
  }

  get asModel(): AnyModel {
    return this as unknown as AnyModel;
  }

  get(name: string): unknown {
    return this.#state.get(name);
  }

  set(name: string, value: unknown): void {
    this.#state.set(name, value);
    this.#changed.add(name);
    this.#emit(`change:${name}`);
  }

  /** A value that is this view's alone. */
  setHere(name: string, value: unknown): void {
    this.#state.set(name, value);
    this.#emit(`change:${name}`);
  }

  save_changes(): void {
    const state = Object.fromEntries([...this.#changed].map((name) => [name, this.#state.get(name)]));
    this.#changed.clear();
    this.#send({ method: "update", state, buffer_paths: [] });
  }

  send(content: object): void {
    this.#send({ method: "custom", content });
  }

  on(event: string, listener: Listener): void {
    const listeners = this.#listeners.get(event) ?? new Set();
    listeners.add(listener);
    this.#listeners.set(event, listeners);
  }

  off(event: string, listener: Listener): void {
    this.#listeners.get(event)?.delete(listener);
  }

  receive({ method, state = {}, buffer_paths = [], content }: Message, buffers: DataView[]): void {
    if (method === "custom") {
      this.#emit("msg:custom", content, buffers);
      return;
    }
    const changed = {
      ...state,
      ...Object.fromEntries(buffer_paths.map(([name], at) => [name, buffers[at]])),
    };
    for (const [name, value] of Object.entries(changed)) this.#state.set(name, value);
    for (const name of Object.keys(changed)) this.#emit(`change:${name}`);
  }

  end(reason: string): void {
    this.#end.abort(new Error(reason));
  }

  #send(message: unknown): void {
    if (this.socket.readyState === this.socket.OPEN) this.socket.send(JSON.stringify(message));
  }

  #emit(event: string, ...values: unknown[]): void {
    for (const listener of [...(this.#listeners.get(event) ?? [])]) listener(...(values as never[]));
  }
}
