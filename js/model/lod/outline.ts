/** Combines the picture of a large trace from its outline, a part in more detail, and single events. */

import { type Described, type Drawn, type Optional, optionalColumns } from "../types";
import { describedIn, type Entries, entriesIn } from "../wire/bars";
import type { WireColumn } from "../wire/columns";
import { type Container, Strings } from "../wire/container";
import type { OutlineHeader } from "../wire/schema";

export interface Outline {
  /** Entries are merged from events in buckets of this many nanoseconds. */
  bucket: number;
  entries: Entries;
  total: number;
  described: Described;
}

/** A part of the run in more detail than the outline; times in nanoseconds from the origin. */
export interface OutlinePart {
  start: number;
  end: number;
  bucket: number;
  /** The lanes that it has; null for all. */
  lanes: ReadonlySet<number> | null;
  entries: Entries;
}

/** The outline in a container; null when it holds a whole trace. */
export function outlineIn(container: Container): Outline | null {
  const described = describedIn(container);
  if (!described.rest) return null;
  const { bucket, total } = container.header as unknown as OutlineHeader;
  return { bucket, total, entries: entriesIn(container), described };
}

/**
 * Joins the three sources: `part` replaces the outline's entries that it overlaps; `exact` events have details
 * but no row.
 */
export function compose(outline: Outline, part: OutlinePart | null, exact: Entries | null): Drawn {
  const blocks = [outline.entries, ...(part ? [part.entries] : []), ...(exact ? [exact] : [])];
  const count = blocks.reduce((sum, block) => sum + block.length, 0);
  const { names, name } = joinNames(blocks, count);
  const column = <T extends WireColumn>(
    make: new (length: number) => T,
    of: (block: Entries) => WireColumn | null | undefined,
  ) => concatColumns(blocks, make, count, of);
  return {
    ...outline.described,
    count,
    start: column(Float64Array, (block) => block.begin),
    duration: column(Float64Array, (block) => block.duration),
    name,
    op: column(Uint32Array, (block) => block.op),
    lane: column(Uint16Array, (block) => block.lane),
    step: outline.entries.step && column(Uint32Array, (block) => block.step),
    category: column(Uint8Array, (block) => block.category),
    ...optionalColumns((name) => {
      const of = (block: Entries) => block[name as keyof Optional];
      return blocks.some(of) ? column(Float64Array, of) : undefined;
    }),
    names,
    merged: {
      total: outline.total,
      rows: outline.described.lanes.map(({ rows = 0 }) => rows),
      outline: outline.entries.length,
      fine: outline.entries.length + (part?.entries.length ?? 0),
      part: part && { start: part.start, end: part.end, lanes: part.lanes },
      events: column(Uint32Array, (block) => block.event),
      row: column(Uint32Array, (block) => block.row),
      start: column(Float64Array, (block) => block.start),
      end: column(Float64Array, (block) => block.end),
      busy: column(Float64Array, (block) => block.busy),
      count: column(Uint32Array, (block) => block.count),
    },
  };
}

/** The columns of the blocks end to end; zeros for a block without the column. */
export function concatColumns<T extends WireColumn>(
  blocks: readonly Entries[],
  make: new (length: number) => T,
  length: number,
  of: (block: Entries) => WireColumn | null | undefined,
): T {
  const out = new make(length);
  let at = 0;
  for (const block of blocks) {
    const own = of(block);
    if (own) out.set(own as never, at);
    at += block.length;
  }
  return out;
}

/** The names of all blocks, each once, and the entries' numbers among them. */
function joinNames(blocks: readonly Entries[], count: number): { names: Strings; name: Uint32Array } {
  const most = blocks.reduce(
    (largest, { nameNumber }) => nameNumber.reduce((one, other) => Math.max(one, other), largest),
    0,
  );
  // One more than the index of each of the trace's names; 0 where no block has it yet.
  const numbers = new Uint32Array(most + 1);
  const name = new Uint32Array(count);
  const taken: { names: Strings; own: number }[] = [];
  let bytes = 0;
  let at = 0;
  for (const block of blocks) {
    const { names, nameNumber } = block;
    for (let own = 0; own < names.length; own++) {
      if (numbers[nameNumber[own]]) continue;
      numbers[nameNumber[own]] = taken.push({ names, own });
      bytes += names.offsets[own + 1] - names.offsets[own];
    }
    for (let entry = 0; entry < block.length; entry++)
      name[at++] = numbers[nameNumber[block.name[entry]]] - 1;
  }
  const text = new Uint8Array(bytes);
  const offsets = new Uint32Array(taken.length + 1);
  for (let index = 0, to = 0; index < taken.length; index++) {
    const { names, own } = taken[index];
    for (let from = names.offsets[own]; from < names.offsets[own + 1]; from++) text[to++] = names.bytes[from];
    offsets[index + 1] = to;
  }
  return { names: new Strings(text, offsets), name };
}
