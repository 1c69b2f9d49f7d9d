/** The contents of a tab, as written by display/tabs. All texts are plain text. */

import type { ChartBlock } from "../charts/block";
import type { ColumnUnit } from "../model/format/column_units";
import type { FindingsBlock, OverviewCard, Zoom } from "../model/wire/overview";
import type { FlameBlock } from "./flame/tree";

export interface TableColumn {
  name: string;
  label: string;
  /** Unit of its figures; times and durations are in ns, times from the trace's first event. */
  unit: ColumnUnit;
  definition: string;
}

/** Null where a figure is not known. */
export type Cell = string | number | null;

export interface TableBlock {
  kind: "table";
  title: string;
  definition: string;
  /** Why nothing is available, as the rest of "Not available:"; else empty. */
  cannot_say: string;
  columns: TableColumn[];
  rows: Cell[][];
  /** Timeline target of each row; null if it has none. */
  zoom: (Partial<Zoom> | null)[];
  /** The total number of rows; `rows` are the first. */
  total: number;
  /** The column with names that the timeline can highlight: op types, nodes or scopes; null without one. */
  light: number | null;
  /** The column whose figures have bars, relative to the largest, and the colours of these: names of the palette, empty for a row without. */
  bar: number | null;
  colours: string[];
  /** An explanation for each row that needs one; empty if no row does. */
  hints: string[];
  /** Which part of a longer table is shown. */
  note: string;
  /** Labels of the columns that have no value here. */
  absent: string[];
  /** For each row how long its events took; absent if the rows have no times. */
  histograms?: HistogramBins[];
  /** How a selected range makes its rows: sums of its events, or the rows of its events; absent if it does not. */
  range?: "op" | "name" | "route" | "events";
}

/** Bins on a logarithmic axis, in ns. */
export interface HistogramBins {
  /** One more than there are bins. */
  edges: number[];
  counts: number[];
  /** The events of each bin by id, or the longest of them. */
  events: number[][];
}

export interface OverviewBlock extends OverviewCard {
  kind: "overview";
}

/** A stage of a tf.data pipeline; times in ns. */
export interface Stage {
  label: string;
  depth: number;
  /** The index of the stage that takes its elements; null for a root. */
  consumer: number | null;
  self_ns: number;
  calls: number;
  mean_ns: number;
  /** How many calls found no element; null without a buffer, or if that is not known. */
  empty: number | null;
  is_bottleneck: boolean;
  /** A name of the palette. */
  colour: string;
  zoom: Zoom | null;
}

export interface StagesBlock {
  kind: "stages";
  title: string;
  definition: string;
  /** Why nothing is available, as the rest of "Not available:"; else empty. */
  cannot_say: string;
  /** In the order of the tree: each after the one that takes its elements. */
  stages: Stage[];
}

/** A part of a step: the name of an activity, and its time. */
export interface TimedPart {
  name: string;
  ns: number;
}

export interface PredictedTime {
  recorded_ns: number;
  predicted_ns: number;
  /** The range of the prediction in ns; null for few steps. */
  range: [number, number] | null;
}

/** The step of median duration, as recorded and as predicted; its parts are the predicted ones. */
export interface Outcome extends PredictedTime {
  step: string;
  /** The task whose parts these are; empty if there is one alone. */
  task: string;
  /** A mean step with the time until the next one; null if that was not recorded. */
  loop: PredictedTime | null;
  /** What several steps are called, and how much shorter they are together, as a part of 1; null for a single step. */
  all_steps: [string, number] | null;
  parts: TimedPart[];
  /** How far off the steps are without a change, as text. */
  drift: string;
  /** Why the prediction is not trusted; else empty. */
  doubt: string;
}

export interface WhatIfBlock {
  kind: "what_if";
  title: string;
  definition: string;
  /** For each subject its label, the names to choose from and the ways besides a factor, each with its text. */
  choices: { subject: string; label: string; names: [string, string][]; how: [string, string][] }[];
  /** Without a change. */
  now: Outcome;
}

export type Block =
  | TableBlock
  | StagesBlock
  | FlameBlock
  | ChartBlock
  | FindingsBlock
  | OverviewBlock
  | WhatIfBlock;

/** A tab has one part, or several with one shown at a time. */
export interface PartName {
  tab: string;
  title: string;
}

export interface Part extends PartName {
  blocks: Block[];
}
