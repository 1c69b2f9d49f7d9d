/** The types of a trace in the browser, for every part of the front end. */

import type { WireColumn } from "./wire/columns";
import type { OutlineHeader, SentLane, Step, TimelineHeader } from "./wire/schema";
import type { Strings } from "./wire/string_table";

export type { Step };

export interface Lane extends SentLane {
  id: number;
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

/** Facts about a timeline as a whole. */
export interface Described
  extends Pick<TimelineHeader, "title" | "steps" | "notes" | "categories" | "ops">,
    Partial<Pick<OutlineHeader, "rest" | "opens" | "predicted">> {
  /** Epoch nanoseconds of time 0. */
  originNs: bigint;
  /** Nanoseconds from the origin to the latest end. */
  span: number;
  lanes: Lane[];
}

/** The columns that are not sent if they are 0 for all events. `OPTIONAL` in display/wire/bars.py lists them as well. */
export const optionalColumns = (of: (name: string) => WireColumn | undefined) => ({
  /** Nanoseconds of the event spent waiting. */
  wait: of("wait"),
  /** Those of them after its data has moved. */
  tail: of("tail"),
  /** 1 for the events of a predicted trace whose durations are not those recorded. */
  changed: of("changed"),
});

export type Optional = Partial<ReturnType<typeof optionalColumns>>;

/** Columns have one item an event; an event's id is its index in them, ordered by start. */
export interface Drawn extends Described, Optional {
  count: number;
  start: Float64Array;
  duration: Float64Array;
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
  names: Strings;
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
  | { events: readonly number[] }
  | {
      /** Nanoseconds from the payload's origin. */
      start: number;
      end: number;
      /** Lane numbers of the payload; null means all lanes. */
      lanes: number[] | null;
      /** Step number, or null for all steps. */
      step: number | null;
    };

/** A value that changes in steps, such as that of a counter or the bytes of an allocator. */
export interface StepLine {
  /** When it changes, in nanoseconds from the origin, and to what. */
  times: Float64Array;
  levels: Uint32Array | Float64Array;
}
