/** The part of a trace that is drawn: lanes, steps and one row of numbers an event. */
import { type Column, type Container, openContainer, Strings } from "./container";
import { floats, oneOf, wide } from "./required";

export interface Lane {
  id: number;
  task: string;
  device: string;
  lane: string;
  kind: string;
  events: number;
}

/** Start and end in nanoseconds from the origin. */
export interface Step {
  step: number;
  start: number;
  end: number;
  events: number;
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
}

/** Unpack and check the `drawn` container; rejects with a readable Error. */
export async function readDrawn(gzip: Uint8Array): Promise<Drawn> {
  const container = await openContainer(gzip);
  const header = container.header as unknown as Header;
  const count = header.count;
  const names = new Strings(
    oneOf(container, "strings_bytes", null, [Uint8Array]),
    oneOf(container, "strings_offsets", null, [Uint32Array]),
  );
  const drawn: Drawn = {
    title: header.title,
    count,
    originNs: BigInt(header.origin_ns),
    span: header.span_ns,
    lanes: header.lanes.map((lane, id) => ({ ...lane, id })),
    steps: header.steps,
    notes: header.notes,
    categories: header.categories,
    ops: header.ops,
    start: floats(oneOf(container, "start", count, [Uint32Array, Float64Array])),
    duration: oneOf(container, "duration", count, [Uint32Array, Float64Array]),
    name: oneOf(container, "name", count, [Uint32Array]),
    op: wide(oneOf(container, "op", count, [Uint8Array, Uint16Array, Uint32Array])),
    lane: oneOf(container, "lane", count, [Uint16Array]),
    step: optional(container, "step", (name) =>
      wide(oneOf(container, name, count, [Uint8Array, Uint16Array, Uint32Array])),
    ),
    category: oneOf(container, "category", count, [Uint8Array]),
    wait: optional(container, "wait", (name) => oneOf(container, name, count, [Uint32Array, Float64Array])),
    names,
  };
  checkBelow("name", drawn.name, names.length);
  checkBelow("op", drawn.op, drawn.ops.length);
  checkBelow("lane", drawn.lane, drawn.lanes.length);
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
  lanes: Omit<Lane, "id">[];
  steps: Step[];
  notes: string[];
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
