/** The monitor's session, over the WebSocket of `tfvis-nb serve`. */

import type { MonitorMessage } from "../host/messages";
import { follow, ServerModel } from "../host/server_model";
import { MonitorHost, type NamedFile } from "./host";

const SERVER_LOST_MESSAGE =
  "The server does not answer: it has stopped, or the connection is lost. Retrying …";

/** Stored by the page at the printed address. Local storage is per port; cookies are shared by all ports. */
const KEY = localStorage.getItem("tfvis-nb-key") ?? "none";
/** The name of the protocol, behind which the server expects the key: see serving/access.py. */
const PROTOCOL = "tfvis-nb";

/** The status with which the address of the WebSocket answers other requests that are permitted. */
const WEBSOCKET_NEEDED = 426;

/** The end of an address that names opened traces. Servers never get it, and only numbers are read from it. */
const OPENED = /^#trace=(\d{1,15}(?:,\d{1,15})*)$/;

/** How often to look whether the connection is of use. */
const LOOK_MS = 1000;
/** How long a server that does nothing else may take to answer a sign of life. */
const SILENT_MS = 20_000;

export class ServerMonitorHost extends MonitorHost {
  override readonly source = "server";
  override readonly patience = "Waiting for the server …";
  readonly #server: ServerModel;
  #trouble: string | null = null;
  /** When the sign of life was sent that is not answered yet. */
  #signed = Number.POSITIVE_INFINITY;
  #changed: () => void = () => {};

  constructor(signal: AbortSignal) {
    const server = new ServerModel(SERVER_LOST_MESSAGE);
    super(server.asModel, signal);
    this.#server = server;
    // Only an address that somebody has typed here: those of this page are set without an event.
    addEventListener("hashchange", () => location.reload(), { signal });
    this.#stayConnected();
  }

  override trouble(): string | null {
    return this.#trouble;
  }

  override watch(changed: () => void, signal: AbortSignal): void {
    this.#changed = changed;
    super.watch(changed, signal);
  }

  override opened(): number[] {
    return OPENED.exec(location.hash)?.[1].split(",").map(Number) ?? [];
  }

  override remember(opened: number[]): void {
    history.replaceState(null, "", opened.length > 0 ? this.address(opened) : location.pathname);
  }

  override address(traces: number[]): string {
    return `#trace=${traces}`;
  }

  /** Not a message, because a session may be larger than any. */
  override async save(): Promise<NamedFile> {
    const answer = await this.#fetch("api/save");
    return { name: this.state()?.name ?? "session.tfvis", content: await answer.blob() };
  }

  protected override async ask(message: MonitorMessage) {
    if (message.kind === "watch") this.#signed = Date.now();
    try {
      return await super.ask(message);
    } finally {
      if (message.kind === "watch") this.#signed = Number.POSITIVE_INFINITY;
    }
  }

  async #stayConnected(): Promise<void> {
    for (let failures = 0; !this.signal.aborted; failures++) {
      while (isHidden()) await pause(this.signal);
      const connection = new AbortController();
      const ends = AbortSignal.any([this.signal, connection.signal]);
      const address = new URL("api/socket", location.href.replace(/^http/, "ws"));
      const socket = new WebSocket(address, [PROTOCOL, KEY]);
      let reason: string;
      try {
        await follow(this.#server, socket, ends);
        failures = 0;
        this.#report(null);
        this.signs();
        await this.#whileUseful(socket);
        this.#server.end(socket, SERVER_LOST_MESSAGE);
        reason = this.#server.reason;
      } catch (error) {
        reason = (error as Error).message;
      }
      connection.abort();
      if (isHidden()) continue;
      this.#report(reason);
      if (reason === SERVER_LOST_MESSAGE) this.#report(await this.#whyLost());
      await pause(this.signal, Math.min(1000 * 2 ** Math.min(failures, 5), 10_000));
    }
  }

  /** Resolves when the connection has ended, nobody sees the page, or the server is silent. */
  async #whileUseful(socket: WebSocket): Promise<void> {
    while (socket.readyState === WebSocket.OPEN) {
      await pause(this.signal, LOOK_MS, socket);
      const isIdle = this.#server.waiting.every((kind) => kind === "watch");
      if (isIdle && isHidden()) return;
      if (isIdle && Date.now() - this.#signed > SILENT_MS) return;
    }
  }

  /** Browsers do not tell pages why a WebSocket is refused, so another request asks. */
  async #whyLost(): Promise<string> {
    try {
      await this.#fetch("api/socket");
    } catch (error) {
      return (error as Error).message;
    }
    return SERVER_LOST_MESSAGE;
  }

  #report(trouble: string | null): void {
    if (trouble === this.#trouble) return;
    this.#trouble = trouble;
    this.#changed();
  }

  async #fetch(address: string): Promise<Response> {
    let answer: Response;
    try {
      const headers = { Authorization: `token ${KEY}` };
      answer = await fetch(address, { headers, cache: "no-store", signal: this.signal });
    } catch {
      throw new Error(SERVER_LOST_MESSAGE);
    }
    if (answer.ok || answer.status === WEBSOCKET_NEEDED) return answer;
    const body = (await answer.json().catch(() => null)) as { error?: string } | null;
    throw new Error(body?.error ?? `The server answered ${answer.status} ${answer.statusText}`);
  }
}

function isHidden(): boolean {
  return document.visibilityState === "hidden";
}

/** Resolves after a while, at the end, when the page is hidden or seen again, and when `socket` is closed. */
function pause(signal: AbortSignal, milliseconds?: number, socket?: WebSocket): Promise<void> {
  return new Promise((resolve) => {
    const over = new AbortController();
    const ends = () => over.abort();
    const timer = milliseconds === undefined ? 0 : setTimeout(ends, milliseconds);
    document.addEventListener("visibilitychange", ends, { signal: over.signal });
    socket?.addEventListener("close", ends, { signal: over.signal });
    signal.addEventListener("abort", ends, { signal: over.signal });
    over.signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
