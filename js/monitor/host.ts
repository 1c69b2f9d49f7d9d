/**
 * The one interface between the monitor and whoever has the session: a Jupyter model (monitor.ts) or the server of
 * `tfvis-nb serve` (serve.ts). Times are epoch milliseconds of the machine that has the file, durations nanoseconds.
 */

import type { Command, MonitorMessage } from "../host/messages";
import type { Notes } from "../host/notes";

/** Contents of the session's file at one time. */
export interface MonitorState {
  path: string;
  /** The file's name. */
  name: string;
  /** When it was read. */
  now_ms: number;
  /** The tracing rule for all signatures: "", "all", "every 1000" or "slower 3". */
  rule: string;
  /** How many processes are asked to trace whatever they run next. */
  requested: number;
  /** The problem with the file, or the one that ended its recording; "" without one. */
  problem: string;
  /** Why there is nothing to read yet; "" if there is. */
  waiting: string;
  /** The running processes, and the last ones. */
  processes: ProcessRow[];
  /** The signatures; if there are very many, only the most expensive ones. */
  signatures: SignatureRow[];
  signatures_total: number;
  /** Finished runs and their total time, of all signatures, including unlisted
   * ones. */
  runs_total: number;
  total_ns: number;
  /** Newest first, not more than some. */
  traces: TraceRow[];
  traces_total: number;
  /** How many traces made by rules the last job keeps of each signature; null for all. */
  keep: number | null;
  /** False where nothing can be ordered: the file cannot be written, or is not there. */
  controllable: boolean;
}

export interface ProcessRow {
  process: number;
  host: string;
  pid: number;
  start_ms: number;
  /** Null while it runs. */
  end_ms: number | null;
}

export interface SignatureRow {
  signature: number;
  /** "session", or Keras's "train", "test" or "predict". */
  kind: string;
  label: string;
  runs: number;
  failed: number;
  /** How many of the runs were traced, and how long these took together. */
  traced: number;
  traced_ns: number;
  /** Mean of the untraced runs, or of the traced ones if all were, as for `longest_ns`; null before the first run. */
  mean_ns: number | null;
  total_ns: number;
  longest_ns: number;
  /**
   * How many times the untraced runs before them the listed traces took, and the ends of its 95 % interval, null
   * if not known; null without such traces.
   */
  tracing_ratio: [ratio: number | null, low: number | null, high: number | null] | null;
  first_ms: number | null;
  last_ms: number | null;
  /** How many processes have run it. */
  processes: number;
  traces: number;
  requested: number;
  /** Its own rule, which overrides the one for all; "" without one. */
  rule: string;
  fetches: string[];
  targets: string[];
  feeds: string[];
  options: string;
  /** Names left out of the three lists. */
  more: number;
}

export interface TraceRow {
  trace: number;
  signature: number;
  label: string;
  process: number;
  /** Which run of the signature in its process it was, from 1. */
  run: number;
  start_ms: number;
  /** Duration of the run alone. */
  duration_ns: number;
  /** Time to start and collect the trace, on top of the run; null if not known. */
  tracing_ns: number | null;
  /** The median of this many earlier untraced runs of its signature; null without any. */
  untraced_ns: number | null;
  untraced_runs: number;
  /** Which batch of its epoch it was, from 0; null for a session run. */
  batch: number | null;
  format: string;
  /** Size in the file. */
  bytes: number;
}

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
