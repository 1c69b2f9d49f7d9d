/** Flame graphs as trees: from the root down to where time was spent, or from there up to the callers. */

import type { FlameGraph } from "../../model/wire/schema";

interface Spent {
  total: number;
  self: number;
  /** Its own events; of the frames in it, see `eventsIn`. */
  events: number[];
}

/** A frame; the first of a tree holds all. Children are ordered, the largest first. */
export interface Frame extends Spent {
  /** The same for the same frame of another step. */
  id: string;
  label: string;
  /** Its name in the timeline: the whole name of a scope, or an op type; null without one. */
  name: string | null;
  /** The labels from the root, but not the root's. */
  path: string[];
  colour: string;
  parent: Frame | null;
  children: Frame[];
  /** The same frame in A of a difference, and the children that only A has. */
  before: Spent;
  gone: Frame[];
}

function frame(id: string, label: string, colour: string, parent: Frame | null): Frame {
  const path = parent ? [...parent.path, label] : [];
  const made = {
    id,
    label,
    name: parent && label,
    path,
    colour,
    parent,
    children: [],
    before: { total: 0, self: 0, events: [] },
    gone: [],
    total: 0,
    self: 0,
    events: [],
  };
  parent?.children.push(made);
  return made;
}

function spend(frame: Spent, self: number, events: readonly number[]): void {
  frame.self += self;
  frame.events.push(...events);
}

/** Whether the graph can show one step alone. */
export function hasSteps(graph: FlameGraph): boolean {
  return graph.parts[0]?.step !== null;
}

/** Whether the graph can show the events of a range alone. */
export function hasEvents(graph: FlameGraph): boolean {
  return graph.parts[0]?.own_ns !== undefined;
}

/** The frames of a step, or of all of them (null), from the root down; of the events in `among` alone, if given. */
export function topDown(
  graph: FlameGraph,
  step: number | null,
  among: ReadonlySet<number> | null = null,
): Frame {
  const frames: Frame[] = [];
  graph.labels.forEach((label, at) => {
    frames.push(frame(`${at}`, label, graph.colours[at], frames[graph.parents[at]] ?? null));
  });
  for (const part of graph.parts) {
    if (step !== null && part.step !== null && part.step !== step) continue;
    part.frames.forEach((at, index) => {
      const events = part.events[index];
      const own = among && part.own_ns?.[index];
      if (!own) spend(frames[at], part.self_ns[index], events);
      else
        events.forEach((event, place) => {
          if (among.has(event)) spend(frames[at], own[place], [event]);
        });
    });
  }
  const { base } = graph;
  base?.frames.forEach((at, index) => {
    spend(frames[at].before, base.self_ns[index], base.events[index]);
  });
  if (graph.by === "scope") for (const each of frames) each.name = each.path.join("/") || null;
  return added(frames[0]);
}

/** The same time bottom-up: under the root each label with self time, and below it its callers. */
export function bottomUp(root: Frame): Frame {
  const inverted = frame("", "", "", null);
  const known = new Map<string, Frame>();
  const inside = (parent: Frame, { label, colour, name }: Frame) => {
    const id = `${parent.id}\0${label}`;
    let found = known.get(id);
    if (!found) {
      found = frame(id, label, colour, parent);
      // Nodes of several scopes together have no name of their own.
      found.name = name === label ? name : null;
      known.set(id, found);
    }
    return found;
  };
  for (const spent of within(root, true)) {
    if (!spent.self && !spent.before.self) continue;
    let at = inverted;
    for (let caller: Frame | null = spent; caller?.parent; caller = caller.parent) at = inside(at, caller);
    spend(at, spent.self, spent.events);
    spend(at.before, spent.before.self, spent.before.events);
  }
  return added(inverted);
}

/** A frame and all frames in it, each after its parent; `withGone` also those that only A has. */
export function within(root: Frame, withGone = false): Frame[] {
  const found = [root];
  for (const each of found) found.push(...each.children, ...(withGone ? each.gone : []));
  return found;
}

export function eventsIn(root: Frame): number[] {
  return within(root).flatMap(({ events }) => events);
}

/** The same in A. */
export function eventsBefore(root: Frame): number[] {
  return within(root, true).flatMap(({ before }) => before.events);
}

/** The outermost frames that only A has, the largest first. */
export function goneIn(root: Frame): Frame[] {
  return within(root)
    .flatMap(({ gone }) => gone)
    .sort((a, b) => b.before.total - a.before.total);
}

/** Frames whose label contains a text, and their total time: a frame inside another one counts once. */
export function search(root: Frame, text: string): { found: Set<Frame>; total: number } {
  const found = new Set<Frame>();
  let total = 0;
  const covered = new Set<Frame>();
  for (const each of within(root)) {
    const isFound = each.parent !== null && each.label.toLowerCase().includes(text.toLowerCase());
    const isCovered = each.parent !== null && covered.has(each.parent);
    if (isFound) found.add(each);
    if (isFound && !isCovered) total += each.total;
    if (isFound || isCovered) covered.add(each);
  }
  return { found, total };
}

/** Sum up the totals, leave out frames without time, and put the largest first. */
function added(root: Frame): Frame {
  for (const each of within(root).reverse()) {
    const all = each.children;
    each.total = all.reduce((sum, { total }) => sum + total, each.self);
    each.before.total = all.reduce((sum, { before }) => sum + before.total, each.before.self);
    each.children = all.filter(({ total }) => total > 0).sort((a, b) => b.total - a.total);
    each.gone = all.filter(({ total, before }) => !total && before.total);
  }
  return root;
}
