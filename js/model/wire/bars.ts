/** Reads bars: all events of a trace, the outline of a large one, or a part of it. */

import { withClocks } from "../lanes/clock_bounds";
import { type Described, type Drawn, type Optional, optionalColumns } from "../types";
import { type Container, NUMBERS, oneOf, openContainer, Strings, type WireColumn, wide } from "./container";
import { byEvent, wireRows, wireTimes } from "./row_order";
import type { BarsHeader, EntriesHeader, SlotTimes, TimelineHeader } from "./schema";

const SLASH = 0x2f;

/** Bars that stand for single events or several. Times in nanoseconds from the origin. */
export interface Entries extends Optional {
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
  op: Indexes;
  category: Uint8Array;
  step: Indexes | null;
  /** Text number in `names`. */
  name: Uint32Array;
  names: Strings;
  /** For each of `names` its number among all names of the trace. */
  nameNumber: Uint32Array;
  /** 1 where the search that was asked with these found something; null without one. */
  isMatch: Uint8Array | null;
}

type Indexes = Uint16Array | Uint32Array;

/** Unpack and check all events of a trace; rejects with a readable Error. */
export async function readDrawn(gzip: Uint8Array): Promise<Drawn> {
  return drawnIn(await openContainer(gzip));
}

/** The trace in an open container. */
export function drawnIn(container: Container): Drawn {
  const described = describedIn(container);
  const { count, slots } = container.header as unknown as BarsHeader;
  const slot = oneOf(container, "slot", count, [Uint16Array]);
  checkBelow("lane", slot, described.lanes.length);
  const { extent: duration, ...columns } = columnsIn(container, slot, slots);
  const drawn: Drawn = { ...described, count, lane: slot, duration, ...columns, merged: null };
  checkBelow("name", drawn.name, drawn.names.length);
  checkBelow("op", drawn.op, drawn.ops.length);
  checkBelow("category", drawn.category, drawn.categories.length);
  if (drawn.step) checkBelow("step", drawn.step, drawn.steps.length);
  checkOrder(drawn.start);
  return drawn;
}

/** Unpack a part of a trace and its header; rejects with a readable Error. */
export async function readEntries<Header>(gzip: Uint8Array): Promise<{ header: Header; entries: Entries }> {
  const container = await openContainer(gzip);
  return { header: container.header as Header, entries: entriesIn(container) };
}

/** The part of a trace in an open container. */
export function entriesIn(container: Container): Entries {
  const { count: length, exact, slots } = container.header as unknown as EntriesHeader;
  const slot = repeated(slots.entries, length);
  const { extent, ...columns } = columnsIn(container, slot, slots);
  const { start } = columns;
  const numbers = (name: string) => Float64Array.from(oneOf(container, name, length, NUMBERS));
  return {
    ...columns,
    length,
    lane: Uint16Array.from(slot, (index) => slots.lane[index]),
    row: slot.map((index) => slots.row[index]),
    end: start.map((time, entry) => time + extent[entry]),
    busy: exact ? extent : numbers("busy"),
    count: exact ? new Uint32Array(length).fill(1) : oneOf(container, "count", length, [Uint32Array]),
    event: oneOf(container, "event", length, [Uint32Array]),
    begin: exact ? start : numbers("after").map((after, entry) => start[entry] + after),
    duration: exact ? extent : numbers("duration"),
    nameNumber: oneOf(container, "name_number", columns.names.length, [Uint32Array]),
    isMatch: container.column("lit") ? oneOf(container, "lit", length, [Uint8Array]) : null,
  };
}

/** The columns that all bars have, in the order of `slot`, the slot of each. */
function columnsIn(container: Container, slot: Uint16Array | Uint32Array, slots: SlotTimes) {
  const { length } = slot;
  const rows = wireRows(slot, slots.first.length);
  const times = (name: string) => oneOf(container, name, length, NUMBERS);
  const indexes = (name: string) =>
    byEvent(wide(oneOf(container, name, length, [Uint8Array, Uint16Array, Uint32Array])), rows);
  return {
    ...wireTimes(slots, slot, rows, times("gap"), times("extent")),
    name: byEvent(oneOf(container, "name", length, [Uint32Array]), rows),
    names: readNames(container),
    op: indexes("op"),
    category: byEvent(oneOf(container, "category", length, [Uint8Array]), rows),
    step: container.column("step") ? indexes("step") : null,
    ...optionalColumns((name) => container.column(name) && byEvent(times(name), rows)),
  };
}

function repeated(times: readonly number[], length: number): Uint32Array {
  const out = new Uint32Array(length);
  let at = 0;
  for (const [index, count] of times.entries()) {
    out.fill(index, at, at + count);
    at += count;
  }
  if (at !== length) throw new Error(`the trace data describes ${at} entries but has ${length}`);
  return out;
}

function checkBelow(name: string, column: WireColumn, limit: number): void {
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

/** Texts that begin with another text: `above` is 0, or one more than the number of the text before the slash. */
interface Tree {
  bytes: Uint8Array;
  offsets: Uint32Array;
}

/** The distinct names of a trace; Python sends each scope once. */
function readNames(container: Container): Strings {
  const parts = new Strings(
    oneOf(container, "parts_bytes", null, [Uint8Array]),
    oneOf(container, "parts_offsets", null, [Uint32Array]),
  );
  const parents = oneOf(container, "scope_parent", null, [Uint32Array]);
  const scopes = grow(null, parents, oneOf(container, "scope_part", parents.length, [Uint32Array]), parts);
  const above = oneOf(container, "name_scope", null, [Uint32Array]);
  const names = grow(scopes, above, oneOf(container, "name_part", above.length, [Uint32Array]), parts);
  return new Strings(names.bytes, names.offsets);
}

/** Joins each text's last part to its parent: one of `trees`, or an earlier text of the same kind if that is null. */
function grow(trees: Tree | null, above: Uint32Array, part: Uint32Array, parts: Strings): Tree {
  const offsets = new Uint32Array(above.length + 1);
  const from = trees?.offsets ?? offsets;
  for (let i = 0; i < above.length; i++) {
    const known = trees === null ? i : from.length - 1;
    if (above[i] > known || part[i] >= parts.length)
      throw new Error(`name ${i} is made of parts that are missing`);
    const head = above[i] === 0 ? 0 : from[above[i]] - from[above[i] - 1] + 1;
    offsets[i + 1] = offsets[i] + head + parts.offsets[part[i] + 1] - parts.offsets[part[i]];
  }
  const bytes = new Uint8Array(offsets[above.length]);
  const source = trees?.bytes ?? bytes;
  for (let i = 0; i < above.length; i++) {
    let at = offsets[i];
    if (above[i] !== 0) {
      at = copy(source, from[above[i] - 1], from[above[i]], bytes, at);
      bytes[at++] = SLASH;
    }
    copy(parts.bytes, parts.offsets[part[i]], parts.offsets[part[i] + 1], bytes, at);
  }
  return { bytes, offsets };
}

/** Copies some twenty bytes, for which a loop is quicker than making a view and copying that. */
function copy(source: Uint8Array, from: number, to: number, target: Uint8Array, at: number): number {
  for (let i = from; i < to; i++) target[at++] = source[i];
  return at;
}

export function describedIn(container: Container): Described {
  const { origin_ns, span_ns, lanes, clocks, ...described } = container.header as unknown as TimelineHeader;
  return {
    ...described,
    originNs: BigInt(origin_ns),
    span: span_ns,
    lanes: withClocks(
      lanes.map((lane, id) => ({ ...lane, id })),
      clocks,
    ),
  };
}
