/** The monitor's session, served by `tfvis-nb serve`. */

import { nameIn, pauseAfter } from "../host/http";
import type { Notes } from "../host/notes";
import type { Command, DownloadFormat, MonitorHost, MonitorState, NamedFile, Opened } from "./host";

const SERVER_LOST_MESSAGE =
  "The server does not answer: it has stopped, or the connection is lost. Retrying …";

/** Stored by the page at the printed address. Local storage is per port; cookies are shared by all ports. */
const KEY = localStorage.getItem("tfvis-nb-key") ?? "none";

/** The storage of a tab outlives a reload, and is not that of other tabs. */
const OPENED = "tfvis-nb-opened";

export class HttpMonitorHost implements MonitorHost {
  readonly source = "server";
  readonly patience = "Waiting for the server …";
  #state: MonitorState | null = null;
  #tag = "";
  #trouble: string | null = null;
  #failures = 0;
  /** Counts commands, when they are sent and when they are answered. */
  #commands = 0;
  #timer = 0;
  #changed: () => void = () => {};

  constructor(readonly signal: AbortSignal) {
    document.addEventListener("visibilitychange", () => this.#look(), { signal });
    signal.addEventListener("abort", () => clearTimeout(this.#timer));
  }

  state(): MonitorState | null {
    return this.#state;
  }

  trouble(): string | null {
    return this.#trouble;
  }

  watch(changed: () => void): void {
    this.#changed = changed;
    this.#look();
  }

  async command(command: Command): Promise<void> {
    this.#commands++;
    try {
      const answer = await this.#post("api/command", command);
      this.#take((await answer.json()) as MonitorState, answer);
    } finally {
      this.#commands++;
    }
  }

  async open(trace: number): Promise<Opened> {
    const part = async (name: string) =>
      new Uint8Array(await (await this.#ask(`api/trace/${trace}/${name}`)).arrayBuffer());
    return { drawn: await part("drawn"), details: () => part("details") };
  }

  async notes(trace: number): Promise<Notes> {
    return (await (await this.#ask(`api/trace/${trace}/notes`)).json()) as Notes;
  }

  async annotate(trace: number, { annotations, views }: Notes): Promise<void> {
    await this.#post(`api/trace/${trace}/annotate`, { annotations, views });
  }

  opened(): number[] {
    return JSON.parse(sessionStorage.getItem(OPENED) ?? "[]") as number[];
  }

  remember(opened: number[]): void {
    sessionStorage.setItem(OPENED, JSON.stringify(opened));
  }

  download(trace: number, format: DownloadFormat): Promise<NamedFile> {
    return this.#file(`api/trace/${trace}/download?format=${format}`, `trace-${trace}.${format}`);
  }

  save(): Promise<NamedFile> {
    return this.#file("api/save", "session.tfvis");
  }

  async #file(address: string, fallback: string): Promise<NamedFile> {
    const answer = await this.#ask(address);
    const name = nameIn(answer.headers.get("Content-Disposition") ?? "") ?? fallback;
    return { name, content: await answer.blob() };
  }

  /** Requests the state now, and repeatedly while the page is visible. */
  async #look(): Promise<void> {
    clearTimeout(this.#timer);
    if (document.visibilityState === "hidden" || this.signal.aborted) return;
    const commands = this.#commands;
    try {
      const answer = await this.#ask("api/state", {
        headers: this.#tag ? { "If-None-Match": this.#tag } : {},
      });
      const before = this.#trouble;
      this.#failures = 0;
      this.#trouble = null;
      const state = answer.status === 304 ? null : ((await answer.json()) as MonitorState);
      // One that was read while a command was carried out may be older than that command's answer.
      if (state && commands === this.#commands) this.#take(state, answer);
      else if (before) this.#changed();
    } catch (error) {
      const before = this.#trouble;
      this.#failures++;
      this.#trouble = error instanceof Error ? error.message : String(error);
      if (this.#trouble !== before) this.#changed();
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#look(), pauseAfter(this.#failures)) as unknown as number;
  }

  #take(state: MonitorState, answer: Response): void {
    this.#state = state;
    this.#tag = answer.headers.get("ETag") ?? "";
    this.#changed();
  }

  #post(address: string, content: object): Promise<Response> {
    const headers = { "Content-Type": "application/json" };
    return this.#ask(address, { method: "POST", headers, body: JSON.stringify(content) });
  }

  async #ask(address: string, init: RequestInit = {}): Promise<Response> {
    let answer: Response;
    try {
      const headers = { ...init.headers, Authorization: `token ${KEY}` };
      answer = await fetch(address, { ...init, headers, cache: "no-store", signal: this.signal });
    } catch {
      if (!this.#trouble && !this.signal.aborted) {
        // Even if an order noticed the end: the next answer shows it.
        this.#trouble = SERVER_LOST_MESSAGE;
        this.#changed();
      }
      throw new Error(SERVER_LOST_MESSAGE);
    }
    if (answer.ok || answer.status === 304) return answer;
    const body = (await answer.json().catch(() => null)) as { error?: string } | null;
    throw new Error(body?.error ?? `The server answered ${answer.status} ${answer.statusText}`);
  }
}
