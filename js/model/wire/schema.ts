/** Data that Python sends. Written by docs/build_metrics.py; the modules explain the fields. */

// tfvis_nb/core/clock_bounds.py

export interface ClockBounds { task: string; low: number | null; high: number | null; }

// tfvis_nb/display/bokehjs.py

export interface BokehItem { target_id: null; root_id: string; doc: unknown; version: string; }

// tfvis_nb/display/overview/card.py

export interface StepBar { label: string; parts: readonly StepPart[]; }
export interface StepPart { name: string; ns: number; share: number; change?: string; }
export interface OverviewCard {
  headline: string; step_time: OverviewLine | null; lines: readonly OverviewLine[]; bars: readonly StepBar[];
  certainty: readonly string[];
}

// tfvis_nb/display/overview/findings_block.py

export interface FindingsBlock {
  kind: "findings"; items: readonly Finding[]; cannot_say: string; nothing: string;
  measured: readonly string[];
}
export interface Finding {
  level: "problem" | "minor" | "observation"; title: string; text: string; advice: string; how: string;
  share: number | null; of: string; zoom: Zoom; steps?: readonly number[];
}
export interface Zoom {
  start: number; end: number; events?: readonly number[]; of?: number; lanes?: readonly number[];
  sides?: readonly (readonly number[])[];
}

// tfvis_nb/display/pages/page.py

export interface PageTabs { bokeh: string; tabs: readonly Part[]; }

// tfvis_nb/display/store/answers.py

export interface OutlineHeader {
  title: string; origin_ns: string; span_ns: number; lanes: readonly SentLane[]; steps: readonly Step[];
  notes: readonly string[]; predicted: string; clocks: readonly ClockBounds[]; categories: readonly string[];
  ops: readonly string[]; opens: [number, number] | null; rest: "chunks" | "windows" | "lanes"; total: number;
  bucket: number;
}
export interface PartHeader { start: number; end: number; bucket: number; }

// tfvis_nb/display/tabs/blocks.py

export interface TableBlock {
  title: string; definition: string; cannot_say: string; kind: "table"; columns: readonly ColumnHead[];
  rows: readonly (readonly Cell[])[]; zoom: readonly (Zoom | EventIds | null)[]; light: number | null;
  bar: number | null; colours: readonly string[]; hints: readonly string[]; total: number; note: string;
  absent: readonly string[]; histograms?: readonly HistogramBins[];
  range?: "op" | "name" | "route" | "events";
}
export interface ColumnHead { name: string; label: string; unit: ColumnUnit; definition: string; }
export interface EventIds { events: readonly number[]; }
export interface HistogramBins {
  edges: readonly number[]; counts: readonly number[]; events: readonly (readonly number[])[];
}
export interface ChartBlock {
  title: string; definition: string; cannot_say: string; kind: "chart"; item: BokehItem | null;
  legend: readonly LegendEntry[]; wide: boolean;
}
export interface LegendEntry { label: string; colour: string; name: string; }
export interface StagesBlock {
  title: string; definition: string; cannot_say: string; kind: "stages"; stages: readonly Stage[];
}
export interface Stage {
  label: string; depth: number; consumer: number | null; self_ns: number; calls: number; mean_ns: number;
  empty: number | null; is_bottleneck: boolean; colour: string; zoom: Zoom | EventIds | null;
}
export interface OverviewBlock {
  headline: string; step_time: OverviewLine | null; lines: readonly OverviewLine[]; bars: readonly StepBar[];
  certainty: readonly string[]; kind: "overview";
}
export interface FlameBlock {
  title: string; definition: string; cannot_say: string; kind: "flame"; graphs: readonly FlameGraph[];
}
export interface FlameGraph {
  labels: readonly string[]; parents: readonly number[]; colours: readonly string[];
  parts: readonly FlamePart[]; base?: FlamePart; by: "scope" | "layer" | "stack" | "thread";
  side: "device" | "host" | "memory"; cannot_say: string;
}
export interface FlamePart {
  step: number | null; frames: readonly number[]; self_ns: readonly number[];
  events: readonly (readonly number[])[]; own_ns?: readonly (readonly number[])[];
}
export interface WhatIfBlock {
  kind: "what_if"; title: string; definition: string; choices: readonly Choice[]; now: Outcome;
}
export interface Choice {
  subject: string; label: string; names: readonly [string, string][]; how: readonly [string, string][];
}
export interface Outcome {
  recorded_ns: number; predicted_ns: number; range: [number, number] | null; step: string; task: string;
  loop: PredictedTime | null; all_steps: [string, number] | null; parts: readonly TimedPart[]; drift: string;
  doubt: string;
}
export interface PredictedTime { recorded_ns: number; predicted_ns: number; range: [number, number] | null; }
export interface TimedPart { name: string; ns: number; }
export interface Part { tab: string; title: string; blocks: readonly Block[]; }

// tfvis_nb/display/wire/bars.py

export interface BarsHeader { count: number; slots: SlotTimes; }
export interface SlotTimes { first: readonly number[]; unit: readonly number[]; }
export interface EntriesHeader { count: number; exact: boolean; slots: Slots; }
export interface Slots {
  first: readonly number[]; unit: readonly number[]; lane: readonly number[]; row: readonly number[];
  entries: readonly number[];
}

// tfvis_nb/display/wire/code.py

export interface CodeHeader {
  files: readonly SourceFile[]; phases: readonly string[]; lines?: readonly (readonly number[])[];
  unattributed?: readonly Unattributed[];
}
export interface SourceFile {
  name: string; own: boolean; text: string | null; mark: "edited" | "older" | null; note: string | null;
}
export interface Unattributed {
  device: number; host: number; copied: number; events: number; sampled: number; reason: string;
}
export interface Totals { device: number; host: number; copied: number; events: number; sampled: number; }

// tfvis_nb/display/wire/counters.py

export interface CounterHeader {
  task: string; device: string; counter: string; series: string; unit: string; least: number; most: number;
  at: number; first: number; reduced?: boolean;
}
export interface CounterFigures { least: number; mean: number; most: number; }

// tfvis_nb/display/wire/details.py

export interface DetailsHeader {
  count: number; devices: readonly string[]; tasks?: readonly string[]; allocators: readonly string[];
  dtypes: Record<string, string>; own_name: string; ids: Record<string, Ids>; tracks: readonly MemoryHeader[];
  counters: readonly CounterHeader[]; counters_unsent: number; overview?: Overview; code?: CodeHeader;
  layers?: readonly string[];
}
export interface Ids { label: string; texts: readonly string[]; }
export interface Overview {
  headline: string; step_time: OverviewLine | null; lines: readonly OverviewLine[]; bars: readonly StepBar[];
  certainty: readonly string[]; findings: FindingsBlock; task: string;
}
export interface StepPartsHeader { parts?: readonly string[]; parts_tasks?: readonly string[]; }

// tfvis_nb/display/wire/header.py

export interface SentLane {
  task: string; device: string; lane: string; kind: string; events: number; rows?: number; busy?: number;
  sums?: boolean;
}
export interface Step {
  step: number; start: number; end: number; events: number; label?: string; kind?: number; device?: number;
}
export interface TimelineHeader {
  title: string; origin_ns: string; span_ns: number; lanes: readonly SentLane[]; steps: readonly Step[];
  notes: readonly string[]; predicted: string; clocks: readonly ClockBounds[]; categories: readonly string[];
  ops: readonly string[]; opens: [number, number] | null;
}

// tfvis_nb/display/wire/memory.py

export interface MemoryHeader {
  task: string; allocator: string; device: string; peak: number; at: number; first: number; unit: number;
  buffers: number; unsent: number; estimated?: boolean;
}

// tfvis_nb/display/wire/waiting.py

export interface WaitingHeader {
  path?: readonly [string, string][]; path_runs?: number; idle?: readonly [string, string][];
  idle_places?: readonly [string, string][];
}

// tfvis_nb/fleet/widget/cells.py

export interface GridHeader {
  title: string; tasks: readonly string[]; runs: readonly string[]; metrics: readonly ColumnHead[];
}

// tfvis_nb/session/snapshot.py

export interface MonitorState {
  signatures: readonly SignatureRow[]; signatures_total: number; runs_total: number; total_ns: number;
  path: string; name: string; now_ms: number; rule: string; requested: number; problem: string;
  waiting: string; processes: readonly ProcessRow[]; traces: readonly TraceRow[]; traces_total: number;
  keep: number | null; controllable: boolean;
}
export interface SignatureRow {
  signature: number; kind: string; label: string; fetches: readonly string[]; targets: readonly string[];
  feeds: readonly string[]; options: string; more: number; runs: number; failed: number; traced: number;
  traced_ns: number; mean_ns: number | null; longest_ns: number; total_ns: number;
  tracing_ratio: readonly (number | null)[] | null; first_ms: number | null; last_ms: number | null;
  processes: number; traces: number; requested: number; rule: string;
}
export interface ProcessRow {
  process: number; host: string; pid: number; start_ms: number; end_ms: number | null;
}
export interface TraceRow {
  trace: number; signature: number; label: string; process: number; run: number; start_ms: number;
  duration_ns: number; tracing_ns: number | null; untraced_ns: number | null; untraced_runs: number;
  batch: number | null; format: string; bytes: number;
}

export type Block = TableBlock | ChartBlock | StagesBlock | OverviewBlock | FindingsBlock | FlameBlock | WhatIfBlock;
export type Cell = string | number | null;
export type ColumnUnit = "ns" | "change" | "time" | "bytes" | "bytes/s" | "operations" | "operations/s" | "count" | "number" | "step" | "share" | "ratio" | "text" | "name";
export type OverviewLine = [string, readonly string[], string];
