/**
 * The one interface between the monitor and whoever has the session: a Jupyter model (monitor.ts) or the server of
 * `tfvis-nb serve` (serve.ts). Times are epoch milliseconds of the machine that has the file, durations nanoseconds.
 */

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

/** Everything that asks rejects with a readable message. */
export interface MonitorHost {
  /** Who answers: "kernel" or "server". */
  readonly source: string;
  /** Message shown while an answer takes long. */
  readonly patience: string;
  /** Null until there is one. */
  state(): MonitorState | null;
  /** Why the state is no longer that of the present, in words; null while it is. */
  trouble(): string | null;
  /** Call `changed` whenever the state or the trouble is another. */
  watch(changed: () => void, signal: AbortSignal): void;
  command(command: Command): Promise<void>;
  open(trace: number): Promise<Opened>;
  /** Annotations and views that the session has of a trace. */
  notes(trace: number): Promise<Notes>;
  annotate(trace: number, notes: Notes): Promise<void>;
  /** The traces that a view of this monitor showed before. */
  opened(): number[];
  /** Remember the traces that are shown. */
  remember(opened: number[]): void;
  download(trace: number, format: DownloadFormat): Promise<NamedFile>;
  /** A copy of the whole session. */
  save(): Promise<NamedFile>;
}
