/** Messages with which the front end asks a widget, and the replies. Written by docs/build_metrics.py. */

import type { Annotation } from "../model/annotations";
import type { Clause } from "../model/search/query";
import type { By } from "../model/search/range_statistics";
import type { NamedView } from "../model/view";

export interface Change { subject: string; name: string; how: number | string; }

export type TimelineMessage =
  /** Answer a question. */
  | { kind: "ask"; question: Question }
  /** Have the trait with the details, unless it is there. */
  | { kind: "details" }
  /** Make a file; the reply has its name. */
  | { kind: "export"; format: "html" | "json" | "csv" }
  /** Send all of the drawing or of the details in chunks; each says how many there are. */
  | { kind: "rest"; part: "drawn" | "details" }
  /** Send the current version of the stored part. */
  | { kind: "stored" };

export type TabsMessage =
  | { kind: "bokeh" }
  /** Show the predicted trace. */
  | { kind: "open"; change: Change }
  /** The timeline is drawn. */
  | { kind: "start" }
  /** Predict the effect of a change. */
  | { kind: "what_if"; change: Change };

export type HeatMapMessage =
  /** Remove the timeline. */
  | { kind: "close" }
  /** Show the timeline of a task and step, given by their indexes; the reply is a text about it. */
  | { kind: "open"; task: number; column: number }
  /** Compare ops since a step, given by its index. */
  | { kind: "since"; column: number }
  /** Send the current version of the stored part. */
  | { kind: "stored" }
  /** Reply with the values of a metric. */
  | { kind: "values"; metric: string };

export type MonitorMessage =
  /** Store annotations and views of a trace. */
  | { kind: "annotate"; trace: number; annotations: readonly Annotation[]; views: readonly NamedView[] }
  /** Execute a command. */
  | { kind: "command"; command?: Command }
  /** Make a file of a trace; the reply has its name. */
  | { kind: "download"; trace: number; format: "html" | "dashboard" | "json" | "parquet" | "pb" | "pickle" }
  /** Reply with the annotations and views of a trace. */
  | { kind: "notes"; trace: number }
  /** Send all that a timeline draws of a trace, and its details; the reply has its title. */
  | { kind: "open"; trace: number }
  /** Make a copy of the session; the reply has its name. */
  | { kind: "save" }
  /** Send the current version of the stored part. */
  | { kind: "stored" }
  /** Keep looking at the session: a view is alive. */
  | { kind: "watch" };

export type Question =
  /** The user's code. */
  | { kind: "code" }
  /** The values of counters. */
  | { kind: "counters" }
  /** All about events, by id; of a single one also about those up to ``hops`` edges away. */
  | { kind: "events"; events: readonly number[]; hops?: number; holders?: readonly number[] | null }
  /** The memory of each allocator. */
  | { kind: "memory" }
  /** The events that match all clauses. */
  | { kind: "search"; clauses: Clause[]; step: number | null }
  /** Totals of a part of the run (ns). */
  | { kind: "statistics"; start: number; end: number; lanes: readonly number[] | null; step: number | null; by: By }
  /** Bars of a part of the run (ns), of some lanes or of all; with clauses, also which of them match. */
  | { kind: "window"; start: number; end: number; bucket: number; lanes: readonly number[] | null; clauses: Clause[] | null; step: number | null };

export type Command =
  | { do: "trace_next"; signature?: number | null }
  | { do: "trace_every"; n: number; signature?: number | null }
  | { do: "trace_all"; signature?: number | null }
  | { do: "trace_slow"; factor: number; signature?: number | null }
  | { do: "cancel_requests"; signature?: number | null }
  | { do: "stop_tracing"; signature?: number | null }
  | { do: "delete"; traces: readonly number[] }
  | { do: "keep"; trace: number };

export type Message = TimelineMessage | TabsMessage | HeatMapMessage | MonitorMessage;
