/** The overview of a trace, as display/overview writes it. All of it is text, of traces or about them. */

/** Where in the timeline something is: times in ns from the first event, events by id, lanes by number. */
export interface Zoom {
  start: number;
  end: number;
  events?: number[];
  /** Their total number; these are the longest or the first. */
  of?: number;
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

/** Parts of a step in one task. */
export interface StepBar {
  label: string;
  parts: StepPart[];
}

/** Term, values, and definition. */
export type OverviewLine = [string, string[], string];

export interface OverviewCard {
  headline: string;
  /** How long a step takes; null without steps. */
  step_time: OverviewLine | null;
  lines: OverviewLine[];
  /** How far the figures can be trusted, and which data was not recorded. */
  certainty: string[];
  /** The step time of each task. */
  bars: StepBar[];
}

export interface Finding {
  level: "problem" | "minor" | "observation";
  title: string;
  text: string;
  advice: string;
  /** The rest of the figures, and how they were measured. */
  how: string;
  /** Share of step time; null for findings outside steps. */
  share: number | null;
  /** "step time", or "the recording" if nothing divides it into steps. */
  of: string;
  zoom: Zoom | null;
}

export interface FindingsBlock {
  kind: "findings";
  items: Finding[];
  /** Why nothing is available, as the rest of "Not available:"; else empty. */
  cannot_say: string;
  /** Text shown if there are no items. */
  nothing: string;
  /** How large everything is that findings look for, reported or not. */
  measured: string[];
}

/** The panel next to the timeline, for a whole run. */
export type Overview = OverviewCard & {
  findings: FindingsBlock;
  /** The one of several tasks that the first problem names; else empty or missing. */
  task?: string;
};
