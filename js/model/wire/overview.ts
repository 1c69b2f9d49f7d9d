/** What a trace shows at a glance, as display/overview writes it. All of it is text, of traces or about them. */

/** Where in the timeline something is: times in ns from the first event, events by id, lanes by number. */
export interface Zoom {
  start: number;
  end: number;
  events?: number[];
  lanes?: number[];
  /** Under two timelines, the events of the upper and of the lower one. */
  sides?: number[][];
}

/** A part of a step: the name of an activity, its time, and its part of 1. */
export interface StepPart {
  name: string;
  ns: number;
  share: number;
}

/** What a task did in a step. */
export interface StepBar {
  label: string;
  parts: StepPart[];
}

/** Term, values, and what is meant. */
export type OverviewLine = [string, string[], string];

export interface OverviewCard {
  headline: string;
  /** How long a step takes; null without steps. */
  step_time: OverviewLine | null;
  lines: OverviewLine[];
  /** The median step of each task. */
  bars: StepBar[];
}

export interface Finding {
  level: "problem" | "minor" | "observation";
  title: string;
  text: string;
  advice: string;
  /** Of step time; null for what is outside of steps. */
  share: number | null;
  zoom: Zoom | null;
  /** How many of its events are selected, where that is not all of them. */
  selects: string;
}

export interface FindingsBlock {
  kind: "findings";
  items: Finding[];
  /** Why there is nothing to say, as the rest of "Not available:"; empty where there is. */
  cannot_say: string;
  /** What stands instead of items where there are none. */
  nothing: string;
  /** What has to be known to add shares up. */
  note: string;
  /** How large everything is that findings look for, reported or not. */
  measured: string[];
}

/** What the panel next to the timeline shows of a whole run. */
export type Overview = OverviewCard & { findings: FindingsBlock };
