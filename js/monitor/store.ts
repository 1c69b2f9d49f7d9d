/** The state of one monitor: the session, the user's choices, pending requests. */

import type { Options } from "../host/host";
import type { Command } from "../host/messages";
import { notesOf } from "../host/notes";
import { withNotes } from "../host/own_page";
import type { MonitorState, SignatureRow, TraceRow } from "../model/wire/schema";
import { save } from "../ui/download";
import type { Order } from "../ui/sort";
import type { DownloadFormat, MonitorHost } from "./host";
import { nextRefusal } from "./recording";
import { Clock } from "./relative_time";
import { RunTimes } from "./run_times";
import type { SignatureColumn, TraceColumn } from "./sorting";

/** Who has not answered by then is doing something else. */
const PATIENCE_MS = 1500;
/** A request that is carried out at once is not worth a line of its own. */
const LONG_ASKED_MS = 2000;

const NO_NOTES = notesOf([{ annotations: [], views: [] }]);

export interface Notice {
  text: string;
  /** The trace that it is about. */
  trace?: TraceRow;
}

export class MonitorStore {
  readonly clock = new Clock();
  readonly rate = new Rate();
  readonly runTimes = new RunTimes();
  state: MonitorState | null = null;
  sort: Order<SignatureColumn> = { column: "total_ns", up: false };
  traceSort: Order<TraceColumn> = { column: "start_ms", up: false };
  filter = "";
  /** The number of the selected signature. */
  selected: number | null = null;
  panelOpen = true;
  /** Whether there is little room next to the tables. */
  isNarrow = false;
  /** Traces that are shown as timelines, the last one opened first. */
  opened: TraceRow[] = [];
  /** Views and annotations of opened traces, for reopening them. */
  readonly options = new Map<number, Options>();
  /** The annotations of opened traces, from the session or the latest exported page. */
  readonly #stored = new Map<number, string>();
  /** Traces whose notes are being stored. */
  readonly #storing = new Set<number>();
  /** Traces that arrived after they were requested. */
  readonly arrived = new Set<number>();
  notice: Notice | null = null;
  failure: string | null = null;
  /** Whether an answer takes long. */
  isWaiting = false;
  /** Requests without an answer so far. */
  readonly #pending = new Set<string>();
  readonly #listeners = new Set<() => void>();
  #askedSince: number | null = null;
  #wasInTrouble = false;
  #hasReopened = false;

  constructor(
    readonly host: MonitorHost,
    readonly signal: AbortSignal,
  ) {
    host.watch(() => this.#take(true), signal);
    this.#take(false);
  }

  /** Call `changed` whenever anything here is another. */
  on(changed: () => void): () => void {
    this.#listeners.add(changed);
    return () => this.#listeners.delete(changed);
  }

  set(values: Partial<Pick<MonitorStore, "sort" | "traceSort" | "filter" | "selected" | "panelOpen">>): void {
    Object.assign(this, values);
    this.emit();
  }

  emit(): void {
    for (const changed of this.#listeners) changed();
  }

  /** The time where the file is. */
  now(): number {
    return this.clock.now();
  }

  get signature(): SignatureRow | null {
    return this.state?.signatures.find((row) => row.signature === this.selected) ?? null;
  }

  get isRunning(): boolean {
    return this.state?.processes.some((row) => row.end_ms === null) ?? false;
  }

  get isControllable(): boolean {
    return this.state?.controllable ?? false;
  }

  /** Why no next run can be requested; null where one can. */
  get nextRefusal(): string | null {
    return this.state && nextRefusal(this.state);
  }

  /** Whether a trace of the next run has been requested and not made for a while. */
  get isLongAsked(): boolean {
    return this.#askedSince !== null && Date.now() - this.#askedSince > LONG_ASKED_MS;
  }

  isPending(key: string): boolean {
    return this.#pending.has(key);
  }

  /** Look at a signature, or with null at the whole session. */
  select(signature: number | null): void {
    this.set({ selected: signature, panelOpen: true });
  }

  closeDetails(): void {
    // With little room, closing the details brings back the tables.
    if (this.isNarrow || this.selected === null) this.set({ panelOpen: false });
    else this.set({ selected: null });
  }

  open(row: TraceRow): void {
    this.notice = null;
    if (!this.opened.some((each) => each.trace === row.trace)) this.#show([row, ...this.opened]);
    this.#keep(row);
    this.emit();
  }

  #keep(row: TraceRow): void {
    // Where that is not possible, nobody records either.
    if (this.isControllable) this.host.command({ do: "keep", trace: row.trace }).catch(() => {});
  }

  close(trace: number): void {
    this.#show(this.opened.filter((row) => row.trace !== trace));
    this.emit();
  }

  #show(opened: TraceRow[]): void {
    this.opened = opened;
    this.host.remember(opened.map((row) => row.trace));
  }

  /** Options of a trace to open: its last options, or else the session's annotations. */
  async optionsOf(trace: number): Promise<Partial<Options>> {
    const known = this.options.get(trace);
    if (known) return known;
    const notes = await this.host.notes(trace);
    this.#stored.set(trace, notesOf([notes]));
    return { annotations: notes.annotations, views: notes.views };
  }

  /** Store the notes of a trace, which have changed, in the session. */
  async storeNotes(trace: number): Promise<void> {
    this.emit();
    if (this.#storing.has(trace)) return;
    this.#storing.add(trace);
    try {
      // Annotations added in the meantime are stored next.
      while (this.withUnsavedNotes.includes(trace)) {
        const { annotations, views } = this.options.get(trace)!;
        const stored = notesOf([{ annotations, views }]);
        await this.host.annotate(trace, { annotations, views });
        this.#stored.set(trace, stored);
      }
    } catch (error) {
      this.failure = `The annotations are not in the session yet: ${(error as Error).message}`;
    }
    this.#storing.delete(trace);
    this.emit();
  }

  /** A trace that was opened as an offline page, with its notes. */
  async pageOf(trace: number): Promise<{ name: string; bytes: Uint8Array }> {
    const { name, content } = await this.host.download(trace, "html");
    const page = new Uint8Array(await content.arrayBuffer());
    const notes = this.options.get(trace)!;
    this.#stored.set(trace, notesOf([notes]));
    this.emit();
    return { name, bytes: withNotes(page, notes) };
  }

  /** Traces with annotations or named views that no exported page has. */
  get withUnsavedNotes(): number[] {
    return [...this.options]
      .filter(([trace, notes]) => notesOf([notes]) !== (this.#stored.get(trace) ?? NO_NOTES))
      .map(([trace]) => trace);
  }

  /** Saves a page of each trace with unsaved notes. */
  async saveNotes(): Promise<void> {
    try {
      for (const trace of this.withUnsavedNotes) {
        const { name, bytes } = await this.pageOf(trace);
        save(name, new Blob([bytes as BlobPart]));
      }
    } catch (error) {
      this.failure = `Export failed: ${(error as Error).message}`;
      this.emit();
      throw error;
    }
  }

  /** Sends a command; `key` identifies it among others under way. */
  order(key: string, command: Command): Promise<void> {
    return this.attempt(key, "This could not be done", () => this.host.command(command));
  }

  download(row: TraceRow, format: DownloadFormat): Promise<void> {
    return this.attempt(`download ${row.trace}`, "The file could not be created", async () => {
      const { name, content } = await this.host.download(row.trace, format);
      save(name, content);
    });
  }

  saveSession(): Promise<void> {
    return this.attempt("save", "The session could not be saved", async () => {
      const { name, content } = await this.host.save();
      save(name, content);
    });
  }

  /** Does something that needs an answer; notifies the user if it fails or takes long. */
  async attempt(key: string, failed: string, work: () => Promise<void>): Promise<void> {
    if (this.#pending.has(key)) return;
    this.#pending.add(key);
    this.failure = null;
    this.notice = null;
    this.emit();
    const timer = setTimeout(() => {
      this.isWaiting = true;
      this.emit();
    }, PATIENCE_MS);
    try {
      await work();
    } catch (error) {
      this.failure = `${failed}: ${error instanceof Error ? error.message : String(error)}`;
    } finally {
      clearTimeout(timer);
      this.#pending.delete(key);
      if (this.#pending.size === 0) this.isWaiting = false;
      if (!this.signal.aborted) this.emit();
    }
  }

  #take(isNew: boolean): void {
    const isInTrouble = this.host.trouble() !== null;
    // An answer clears the failure caused by a missing one.
    if (this.#wasInTrouble && !isInTrouble) this.failure = null;
    this.#wasInTrouble = isInTrouble;
    const before = this.state;
    const state = this.host.state();
    if (state && state !== before) {
      this.state = state;
      if (!this.#hasReopened && state.signatures.length > 0) this.#reopen(state);
      this.clock.seen(state.now_ms, isNew);
      this.rate.seen(state);
      this.runTimes.seen(state);
      this.#tell(before, state);
      if (state.requested === 0) this.#askedSince = null;
      else this.#askedSince ??= Date.now();
    }
    this.emit();
  }

  /** Show the traces of the address, or those that were shown before the cell ran again. */
  #reopen(state: MonitorState): void {
    this.#hasReopened = true;
    const before = this.host.opened();
    this.opened = before.flatMap((trace) => state.traces.find((row) => row.trace === trace) ?? []);
    for (const row of this.opened) this.#keep(row);
    const missing = before.filter((trace) => !this.opened.some((row) => row.trace === trace));
    if (missing.length > 0) this.failure = `Not among the traces below: trace ${missing.join(", ")}`;
  }

  #tell(before: MonitorState | null, state: MonitorState): void {
    const finished = awaited(before, state);
    for (const row of finished) this.arrived.add(row.trace);
    if (finished.length > 0) this.notice = { text: "Traced", trace: finished[0] };
    // Its trace may have been deleted since, here or elsewhere.
    const about = this.notice?.trace;
    if (about && !state.traces.some((row) => row.trace === about.trace)) this.notice = null;
    if (!this.signature) this.selected = null;
  }
}

/** A rate is taken over at least this long: counts come about once a second, and not at even distances. */
const RATE_OVER_MS = 3000;

/** Traces that have come, newest first. */
export function newTraces(before: MonitorState | null, after: MonitorState): TraceRow[] {
  if (!before) return [];
  const known = new Set(before.traces.map((row) => row.trace));
  // Older ones come into a list of the newest when some of those are deleted.
  const newest = Math.max(0, ...known);
  return after.traces.filter((row) => row.trace > newest);
}

/** The new traces that were requested, by signature or for whatever runs next. */
export function awaited(before: MonitorState | null, after: MonitorState): TraceRow[] {
  if (!before) return [];
  const requested = new Set(before.signatures.filter((row) => row.requested > 0).map((row) => row.signature));
  return newTraces(before, after).filter((row) => before.requested > 0 || requested.has(row.signature));
}

/** Counts how many runs end in a second. */
export class Rate {
  #samples: { at: number; runs: number }[] = [];

  seen(state: MonitorState): void {
    this.#samples.push({ at: state.now_ms, runs: state.runs_total });
    const last = state.now_ms;
    while (this.#samples.length > 2 && last - this.#samples[1].at >= RATE_OVER_MS) this.#samples.shift();
  }

  /** Runs per second, 0 without recent runs; null before the second state. */
  at(nowMs: number): number | null {
    const first = this.#samples[0];
    const last = this.#samples.at(-1);
    if (!first || !last || last.at <= first.at) return null;
    // If no run ends, no new state arrives.
    const until = nowMs - last.at > RATE_OVER_MS ? nowMs : last.at;
    const rate = (1000 * Math.max(last.runs - first.runs, 0)) / (until - first.at);
    return nowMs - last.at > 4 * RATE_OVER_MS ? 0 : rate;
  }
}
