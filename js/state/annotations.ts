/** Making, keeping and finding the annotations of a timeline. */

import type { Annotation } from "../model/annotations";
import { newId } from "../model/annotations";
import { nameOf } from "../model/lanes/event_text";
import { entryOfEvent } from "../model/lod/merged";
import type { Selection } from "../model/types";
import type { Store } from "./store";

/** Those to be seen: of aligned steps only those of events have a place. */
export function shownAnnotations(store: Store): readonly Annotation[] {
  const all = store.host.get("annotations");
  if (store.aligned) return all.filter(({ event }) => event !== null);
  const { start, end } = store.whole;
  return store.step === null ? all : all.filter((each) => each.end >= start && each.start <= end);
}

/** Those of an event (its id), or within a range. */
export function annotationsOf(store: Store, selection: Selection): Annotation[] {
  const all = store.host.get("annotations");
  if ("events" in selection) {
    const events = new Set(selection.events);
    return all.filter(({ event }) => event !== null && events.has(event));
  }
  return all.filter(({ start, end }) => start >= selection.start && end <= selection.end);
}

/**
 * The target of N: the selection, else the last measured interval, else the time at the pointer. An existing
 * annotation is edited. Null if there is no target.
 */
export function draftOf(store: Store): Annotation | null {
  const selection = store.host.get("selection");
  const whole = ofSelection(store, selection) ?? ofTime(store);
  if (!whole) return null;
  const known = store.host
    .get("annotations")
    .find(({ event, start, end, lanes }) =>
      whole.event !== null
        ? event === whole.event
        : event === null && start === whole.start && end === whole.end && `${lanes}` === `${whole.lanes}`,
    );
  return known ?? { id: newId(), event_name: "", name: "", text: "", ...whole };
}

type Place = Pick<Annotation, "kind" | "start" | "end" | "lanes" | "event"> & Partial<Annotation>;

function ofSelection(store: Store, selection: Selection | null): Place | null {
  if (!selection) return null;
  const { run } = store;
  if (!("events" in selection)) {
    const lanes = selection.lanes?.length === run.lanes.length ? null : selection.lanes;
    const [start, end] = [Math.round(selection.start), Math.round(selection.end)];
    return { kind: "range", start, end, lanes, event: null };
  }
  const entries = selection.events.map((event) => entryOfEvent(run, event)).filter((entry) => entry !== null);
  if (!entries.length) return null;
  const start = Math.min(...entries.map((entry) => run.start[entry]));
  const end = Math.max(...entries.map((entry) => run.start[entry] + run.duration[entry]));
  const lanes = [...new Set(entries.map((entry) => run.lane[entry]))].sort((a, b) => a - b);
  if (selection.events.length > 1) return { kind: "range", start, end, lanes, event: null };
  const [event] = selection.events;
  return { kind: "event", start, end, lanes, event, event_name: nameOf(run, entries[0]) };
}

function ofTime(store: Store): Place | null {
  if (store.aligned) return null;
  const mark =
    store.marks.at(-1) ?? (store.cursor === null ? null : { start: store.cursor, end: store.cursor });
  const { span } = store.run;
  // Beside a longer trace, the axis goes on after the end of this one.
  if (!mark || mark.start > span || mark.end < 0) return null;
  const [start, end] = [mark.start, mark.end].map((time) => Math.min(Math.max(Math.round(time), 0), span));
  return { kind: "mark", start, end, lanes: null, event: null };
}

/** Keep an annotation; the measured interval that it is of becomes one. */
export function keepAnnotation(store: Store, annotation: Annotation): void {
  const others = store.host.get("annotations").filter(({ id }) => id !== annotation.id);
  store.setAnnotations([...others, annotation].sort((a, b) => a.start - b.start || a.end - b.end));
  if (annotation.kind === "mark")
    store.setMarks(
      store.marks.filter(({ start, end }) => start !== annotation.start || end !== annotation.end),
    );
}

export function removeAnnotation(store: Store, id: string): void {
  store.setAnnotations(store.host.get("annotations").filter((each) => each.id !== id));
}
