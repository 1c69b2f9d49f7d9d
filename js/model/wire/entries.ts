/** Reads merged entries as display/large/entries.py writes them: the outline of a large trace, and parts of it. */
import { type Container, oneOf, openContainer, type Strings, wide } from "./container";
import { type LaneClock, wireTimes } from "./row_order";
import { readNames } from "./scoped_names";

/** Times in nanoseconds from the origin. */
export interface Entries {
  length: number;
  lane: Uint16Array;
  /** Row of the lane. */
  row: Uint32Array;
  /** Start of the first, end of the last event, and their summed durations. */
  start: Float64Array;
  end: Float64Array;
  busy: Float64Array;
  /** Events that an entry stands for. */
  count: Uint32Array;
  /** The longest of them: its id, and the columns drawn of it. */
  event: Uint32Array;
  begin: Float64Array;
  duration: Float64Array;
  op: Uint32Array;
  category: Uint8Array;
  step: Uint32Array | null;
  wait: Float64Array | null;
  /** Text number in `names`. */
  name: Uint32Array;
  names: Strings;
  /** For each of `names` its number among all names of the trace. */
  nameNumber: Uint32Array;
  /** 1 where the search that was asked with these found something; null without one. */
  isMatch: Uint8Array | null;
}

interface Slots {
  lane: number[];
  row: number[];
  entries: number[];
  first: number[];
  unit: number[];
}

/** Unpack entries and their header; rejects with a readable Error. */
export async function readEntries<Header>(gzip: Uint8Array): Promise<{ header: Header; entries: Entries }> {
  const container = await openContainer(gzip);
  return { header: container.header as Header, entries: entriesIn(container) };
}

/** The entries in an open container. */
export function entriesIn(container: Container): Entries {
  const header = container.header as unknown as { count: number; exact: boolean; slots: Slots };
  const { count: length, slots } = header;
  const numbers = (name: string) =>
    Float64Array.from(oneOf(container, name, length, [Uint32Array, Float64Array]));
  const optional = <T>(name: string, read: () => T) => (container.column(name) === undefined ? null : read());
  const slot = repeated(
    slots.lane.map((_, index) => index),
    slots.entries,
    length,
  );
  const clocks = slots.first.map((first, index): LaneClock => ({ first, unit: slots.unit[index] }));
  const rows = slot.map((_, index) => index);
  const times = wireTimes(
    clocks,
    slot,
    rows,
    oneOf(container, "gap", length, [Uint32Array, Float64Array]),
    oneOf(container, "extent", length, [Uint32Array, Float64Array]),
  );
  const { start, duration: extent } = times;
  const { exact } = header;
  const integers = (name: string) =>
    Uint32Array.from(wide(oneOf(container, name, length, [Uint8Array, Uint16Array, Uint32Array])));
  const names = readNames(container);
  return {
    length,
    lane: Uint16Array.from(slot, (index) => slots.lane[index]),
    row: slot.map((index) => slots.row[index]),
    start,
    end: start.map((time, entry) => time + extent[entry]),
    busy: exact ? extent : numbers("busy"),
    count: exact ? new Uint32Array(length).fill(1) : oneOf(container, "count", length, [Uint32Array]),
    event: oneOf(container, "event", length, [Uint32Array]),
    begin: exact ? start : numbers("after").map((after, entry) => start[entry] + after),
    duration: exact ? extent : numbers("duration"),
    op: integers("op"),
    category: oneOf(container, "category", length, [Uint8Array]),
    step: optional("step", () => integers("step")),
    wait: optional("wait", () => numbers("wait")),
    name: oneOf(container, "name", length, [Uint32Array]),
    names,
    nameNumber: oneOf(container, "name_number", names.length, [Uint32Array]),
    isMatch: optional("lit", () => oneOf(container, "lit", length, [Uint8Array])),
  };
}

function repeated(items: readonly number[], times: readonly number[], length: number): Uint32Array {
  const out = new Uint32Array(length);
  let at = 0;
  for (const [index, item] of items.entries()) {
    out.fill(item, at, at + times[index]);
    at += times[index];
  }
  if (at !== length) throw new Error(`the trace data describes ${at} entries but has ${length}`);
  return out;
}
