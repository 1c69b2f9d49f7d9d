/** Names and comments of people on times, ranges and events; display/shaping/annotations.py has the same form. */

import { plainTest } from "./search/plain_text";
import { type Viewport, xAt } from "./viewport";

/** Times in nanoseconds from the origin. */
export interface Annotation {
  id: string;
  kind: "mark" | "range" | "event";
  start: number;
  end: number;
  /** Lane numbers; null for all. */
  lanes: number[] | null;
  /** Event id; null for an annotation without an event, or if this trace does not have the event. */
  event: number | null;
  event_name: string;
  name: string;
  text: string;
}

/** The most of a trace, and the characters of each; tfvis_nb/core/annotations.py has the same. */
export const MOST_ANNOTATIONS = 1000;
export const MOST_NAME = 200;
export const MOST_TEXT = 4000;

export const newId = () => Math.random().toString(36).slice(2, 14);

/** A flag above the lanes, for the annotations that begin at its place. */
interface Flag {
  /** CSS px from the left. */
  x: number;
  /** Px up to the next one. */
  room: number;
  annotations: Annotation[];
}

/** Flags nearer to each other than this (CSS px) are one: a number of four digits fits. */
export const NEAR_PX = 36;
const GAP_PX = 4;

/** The flags of the annotations in view, from left to right. */
export function placeFlags(annotations: readonly Annotation[], view: Viewport, width: number): Flag[] {
  const most = Math.max(width - NEAR_PX, 0);
  const visible = annotations
    .filter(({ start, end }) => end >= view.start && start <= view.end)
    .map((annotation) => ({ annotation, x: Math.min(Math.max(xAt(view, annotation.start, width), 0), most) }))
    .sort((a, b) => a.x - b.x);
  const flags: Flag[] = [];
  for (const { annotation, x } of visible) {
    const last = flags.at(-1);
    if (last && x - last.x < NEAR_PX) last.annotations.push(annotation);
    else flags.push({ x, room: 0, annotations: [annotation] });
  }
  flags.forEach((flag, at) => {
    flag.room = (flags[at + 1]?.x ?? width + GAP_PX) - flag.x - GAP_PX;
  });
  return flags;
}

/** Those whose name, comment or event has all texts that are searched for without a field. */
export function annotationsWith(annotations: readonly Annotation[], query: string): Annotation[] {
  const has = plainTest(query);
  return annotations.filter(({ name, text, event_name }) => has(`${name}\n${text}\n${event_name}`));
}
