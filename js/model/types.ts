/** The types of a trace in the browser, for every part of the front end. */

import type { Strings } from "./wire/string_table";

export interface Lane {
  id: number;
  task: string;
  device: string;
  lane: string;
  kind: string;
  events: number;
  /** Its rows, where the kernel has packed them. */
  rows?: number;
  /** How long anything ran in it (ns), where the kernel has said so. */
  busy?: number;
  /** Set for a lane that stands for the other lanes of its device while these are not shown. */
  sums?: true;
  /** Clock of its task, if known to be uncertain. */
  clock?: Clock;
}

/** Times of a task may be ahead of those of another by `low` to `high`; negative is behind. */
export interface Clock {
  task: string;
  low: number;
  high: number;
  /** The task that it is compared with. */
  against: string;
}

/** The number for events outside steps. */
export const NO_STEP = -1;

/** Start and end in nanoseconds from the origin. */
export interface Step {
  /** Its number from 0, or `NO_STEP`. */
  step: number;
  /** Label besides its number: the runs fetched, the name of a marker. */
  label?: string;
  start: number;
  end: number;
  /** The events shown with it: its own, and those outside steps that run during it. */
  events: number;
  /** How long the busiest accelerator was busy in it (ns), where that is known. */
  device?: number;
  /** Its kind, such as training or evaluation, from 0; left out if it is 0. */
  kind?: number;
}

/**
 * How the kernel sends the events that are not loaded: everything; requested time ranges; or only the
 * lanes in view, because at first there is only one lane per device.
 */
export type Rest = "chunks" | "windows" | "lanes";

/** Facts about a timeline as a whole. */
export interface Described {
  /** Missing if all events are loaded. */
  rest?: Rest;
  title: string;
  /** Epoch nanoseconds of time 0. */
  originNs: bigint;
  /** Nanoseconds from the origin to the latest end. */
  span: number;
  lanes: Lane[];
  steps: Step[];
  notes: string[];
  categories: string[];
  ops: string[];
  /** Range at which the view opens (ns), if most of the whole is empty or start-up; else null or missing. */
  opens?: [number, number] | null | undefined;
  /** The changes of a prediction and their effect; missing or empty for recorded times. */
  predicted?: string | undefined;
}

/** Columns have one item an event; an event's id is its index in them, ordered by start. */
export interface Drawn extends Described {
  count: number;
  start: Float64Array;
  duration: Float64Array | Uint32Array;
  /** Text number in `names`. */
  name: Uint32Array;
  /** Index in `ops`. */
  op: Uint16Array | Uint32Array;
  /** Index in `lanes`. */
  lane: Uint16Array;
  /** Index in `steps`; null when there is at most one step. */
  step: Uint16Array | Uint32Array | null;
  /** Index in `categories`. */
  category: Uint8Array;
  /** Nanoseconds of the event spent waiting; null when no event waits. */
  wait: Uint32Array | Float64Array | null;
  /** Nanoseconds from its start until its data moves; null or missing when that is `wait`. */
  turn?: Uint32Array | Float64Array | null;
  names: Strings;
  /** 1 for the events of a predicted trace whose durations are not those recorded. */
  changed?: Uint8Array | null;
  /** Set where starts count from each step's own, so that the ids are not in their order. */
  isAligned?: true;
  /**
   * The events of the lanes with ids below this are not shown: aligned steps leave out events outside steps.
   */
  leftOut?: number;
  /** Set where an entry can stand for several events; then an id is the index of an entry. */
  merged: Merged | null;
}

/** Events of one lane that do not overlap; the arrays are aligned and ordered by start. Times in ns. */
export interface Row {
  lane: number;
  /** Place among the rows of its lane, 0 on top. */
  index: number;
  ids: Uint32Array;
  start: Float64Array;
  end: Float64Array;
  /** Where an entry can stand for several events: their summed durations, the longest of them, how many they are. */
  merged?: { busy: Float64Array; peak: Float64Array; count: Uint32Array };
  /** Whether an event can have several entries. */
  isCut?: boolean;
}

/**
 * Entries as a whole; the columns of `Drawn` describe only the longest event of each. Entries 0 to `outline`
 * are the whole run, coarse. Those from there to `fine` are a part of the run in more detail; while `part` is
 * set they replace the outline's entries that overlap it, in its lanes. The rest is known but in no row. In each of the two
 * blocks entries are ordered by lane, row and start.
 */
export interface Merged {
  /** Events of the whole trace. */
  total: number;
  /** Rows of each lane. */
  rows: readonly number[];
  outline: number;
  fine: number;
  /** Nanoseconds from the origin; `lanes` are the chosen ones, null for all. */
  part: { start: number; end: number; lanes: ReadonlySet<number> | null } | null;
  /** Event id of the longest event of each entry. */
  events: Uint32Array;
  /** Row of the lane. */
  row: Uint32Array;
  /** Start of the first, end of the last event, and their summed durations (ns). */
  start: Float64Array;
  end: Float64Array;
  busy: Float64Array;
  /** Events that the entry stands for. */
  count: Uint32Array;
}

/** A selection is either events by id or a range of time on some lanes. */
export type Selection =
  | { events: number[] }
  | {
      /** Nanoseconds from the payload's origin. */
      start: number;
      end: number;
      /** Lane numbers of the payload; null means all lanes. */
      lanes: number[] | null;
      /** Step number, or null for all steps. */
      step: number | null;
    };
