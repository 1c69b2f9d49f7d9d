/** A widget's model over a WebSocket: the server's process has the widget, as a kernel would. */

import type { AnyModel } from "@anywidget/types";
import { setEnd } from "./kernel_end";

/** The widget of a process. */
export type Shown = "timeline" | "monitor";

interface Message {
  method: "open" | "update" | "custom" | "refused";
  /** Lengths of the binary parts, which follow the JSON. */
  buffers: number[];
  view?: Shown;
  state?: Record<string, unknown>;
  /** Names of the state's binary values, in the order of the parts. */
  buffer_paths?: [name: string][];
  content?: Record<string, unknown>;
  sentence?: string;
}

type Listener = (...values: never[]) => void;

export const CONNECTION_LOST = "the connection to the server is lost; close this tab and open the file again";

/**
 * Lets `model` follow the widget at the other end of `socket`, and resolves when it has the state. `request` is sent
 * first, where the server asks for one. Rejects with the reason why there is no widget. Messages before the state are
 * ignored: it has all changes.
 */
export function follow(
  model: ServerModel,
  socket: WebSocket,
  signal: AbortSignal,
  request?: object,
): Promise<Shown> {
  socket.binaryType = "arraybuffer";
  if (request) socket.addEventListener("open", () => socket.send(JSON.stringify(request)), { signal });
  signal.addEventListener("abort", () => socket.close());
  return new Promise((resolve, reject) => {
    const end = (reason: string) => {
      reject(new Error(reason));
      model.end(socket, reason);
    };
    const received = ({ data }: MessageEvent<ArrayBuffer>) => {
      const [message, buffers] = unpack(data);
      if (message.method === "refused") end(message.sentence ?? model.lost);
      else model.receive(socket, message, buffers);
      if (message.method === "open") resolve(message.view ?? "timeline");
    };
    socket.addEventListener("message", received, { signal });
    socket.addEventListener("close", () => end(model.lost), { signal });
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

/** The part of `AnyModel` that our hosts use. It outlives its connections. */
export class ServerModel {
  readonly #state = new Map<string, unknown>();
  readonly #changed = new Set<string>();
  readonly #listeners = new Map<string, Set<Listener>>();
  /** Kinds of the requests that wait for an answer, by id. */
  readonly #requests = new Map<string, string>();
  /** Null before the first connection, and when it has ended. */
  #socket: WebSocket | null = null;
  /** The end of the connection: each has its own. */
  #end = new AbortController();

  /** `lost` is the reason of an end for which the server gives none. */
  constructor(readonly lost = CONNECTION_LOST) {
    this.#end.abort(new Error(lost));
    setEnd(this.asModel, this.#end.signal);
  }

  /** Why the connection has ended. */
  get reason(): string {
    return (this.#end.signal.reason as Error).message;
  }

  get asModel(): AnyModel {
    return this as unknown as AnyModel;
  }

  get waiting(): string[] {
    return [...this.#requests.values()];
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

  send(content: { kind?: string; id?: string }): void {
    if (content.id) this.#requests.set(content.id, content.kind ?? "");
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

  receive(socket: WebSocket, message: Message, buffers: DataView[]): void {
    const { method, state = {}, buffer_paths = [], content = {} } = message;
    if (method === "open") {
      this.#socket = socket;
      this.#end = new AbortController();
      setEnd(this.asModel, this.#end.signal);
    }
    if (this.#socket !== socket) return;
    if (method === "custom") {
      // One in chunks may have more to come.
      if (!("of" in content)) this.#requests.delete(`${content.id}`);
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

  /** Rejects all requests until there is another connection. */
  end(socket: WebSocket, reason: string): void {
    if (this.#socket !== socket) return;
    this.#socket = null;
    this.#requests.clear();
    this.#end.abort(new Error(reason));
  }

  #send(message: unknown): void {
    if (this.#socket?.readyState === this.#socket?.OPEN) this.#socket?.send(JSON.stringify(message));
  }

  #emit(event: string, ...values: unknown[]): void {
    for (const listener of [...(this.#listeners.get(event) ?? [])]) listener(...(values as never[]));
  }
}
