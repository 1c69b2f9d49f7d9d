/** The part of a trace that is drawn: lanes, steps and one row of numbers an event. */
import { type Clock, type WireClock, withClocks } from "../lanes/clock_bounds";
import type { Merged } from "../lod/merged";
import { type Column, type Container, oneOf, openContainer, type Strings, wide } from "./container";
import { byEvent, type LaneClock, wireRows, wireTimes } from "./row_order";
import { readNames } from "./scoped_names";

export interface Lane {
  id: number;
  task: string;
  device: string;
  lane: string;
  kind: string;
  events: number;
  /** Of its task, where that is known to be uncertain. */
  clock?: Clock;
}

/** Start and end in nanoseconds from the origin. */
export interface Step {
  /** Its number; -1 is what belongs to no step. */
  step: number;
  /** What it is called besides its number: the runs fetched, the name of a marker. */
  label?: string;
  start: number;
  end: number;
  events: number;
  /** How long the busiest device ran kernels in it (ns); where no device did in any step, none has this. */
  device?: number;
}

/** Columns have one item an event; an event's id is its place in them, ordered by start. */
export interface Drawn {
  title: string;
  count: number;
  /** Epoch nanoseconds of time 0. */
  originNs: bigint;
  /** Nanoseconds from the origin to the latest end. */
  span: number;
  lanes: Lane[];
  steps: Step[];
  notes: string[];
  categories: string[];
  ops: string[];
  start: Float64Array;
  duration: Float64Array | Uint32Array;
  /** Text number in `names`. */
  name: Uint32Array;
  /** Place in `ops`. */
  op: Uint16Array | Uint32Array;
  /** Place in `lanes`. */
  lane: Uint16Array;
  /** Place in `steps`; null when there is at most one step. */
  step: Uint16Array | Uint32Array | null;
  /** Place in `categories`. */
  category: Uint8Array;
  /** Nanoseconds at the head of the event spent waiting; null when no event waits. */
  wait: Uint32Array | Float64Array | null;
  names: Strings;
  /** Set where starts count from each step's own, so that the ids are not in their order. */
  isAligned?: true;
  /** The events of the lanes with ids below this are not shown: aligned steps leave out what is of no step. */
  leftOut?: number;
  /** Set where an entry can stand for several events; then an id is the place of an entry. */
  merged: Merged | null;
}

/** Unpack and check the `drawn` container; rejects with a readable Error. */
export async function readDrawn(gzip: Uint8Array): Promise<Drawn> {
  return drawnIn(await openContainer(gzip));
}

/** The trace in an open container. */
export function drawnIn(container: Container): Drawn {
  const header = container.header as unknown as Header;
  const count = header.count;
  const names = readNames(container);
  const lane = oneOf(container, "lane", count, [Uint16Array]);
  checkBelow("lane", lane, header.lanes.length);
  const rows = wireRows(lane, header.lanes.length);
  const times = wireTimes(
    header.lanes,
    lane,
    rows,
    oneOf(container, "gap", count, [Uint32Array, Float64Array]),
    oneOf(container, "duration", count, [Uint32Array, Float64Array]),
  );
  const drawn: Drawn = {
    title: header.title,
    count,
    originNs: BigInt(header.origin_ns),
    span: header.span_ns,
    lanes: withClocks(
      header.lanes.map(({ first, unit, ...described }, id) => ({ ...described, id })),
      header.clocks,
    ),
    steps: header.steps,
    notes: header.notes,
    categories: header.categories,
    ops: header.ops,
    start: times.start,
    duration: times.duration,
    name: byEvent(oneOf(container, "name", count, [Uint32Array]), rows),
    op: byEvent(wide(oneOf(container, "op", count, [Uint8Array, Uint16Array, Uint32Array])), rows),
    lane,
    step: optional(container, "step", (name) =>
      byEvent(wide(oneOf(container, name, count, [Uint8Array, Uint16Array, Uint32Array])), rows),
    ),
    category: byEvent(oneOf(container, "category", count, [Uint8Array]), rows),
    wait: optional(container, "wait", (name) =>
      byEvent(oneOf(container, name, count, [Uint32Array, Float64Array]), rows),
    ),
    names,
    merged: null,
  };
  checkBelow("name", drawn.name, names.length);
  checkBelow("op", drawn.op, drawn.ops.length);
  checkBelow("category", drawn.category, drawn.categories.length);
  if (drawn.step !== null) checkBelow("step", drawn.step, drawn.steps.length);
  checkOrder(drawn.start);
  return drawn;
}

/** The header as display/wire.py writes it; container.ts has checked the version. */
interface Header {
  title: string;
  count: number;
  origin_ns: string;
  span_ns: number;
  lanes: (Omit<Lane, "id"> & LaneClock)[];
  steps: Step[];
  notes: string[];
  clocks: WireClock[];
  categories: string[];
  ops: string[];
}

function optional<T>(container: Container, name: string, read: (name: string) => T): T | null {
  return container.column(name) === undefined ? null : read(name);
}

function checkBelow(name: string, column: Column, limit: number): void {
  for (let i = 0; i < column.length; i++) {
    if (column[i] >= limit)
      throw new Error(`event ${i} has ${name} number ${column[i]}, but there are only ${limit}`);
  }
}

function checkOrder(start: Float64Array): void {
  for (let i = 1; i < start.length; i++) {
    if (!(start[i] >= start[i - 1])) throw new Error(`event ${i} starts before event ${i - 1}`);
  }
}
