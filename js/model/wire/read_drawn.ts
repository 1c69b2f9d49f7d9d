/** The part of a trace that is drawn: lanes, steps and one row of numbers an event. */

import { type WireClock, withClocks } from "../lanes/clock_bounds";
import type { Drawn, Lane, Step } from "../types";
import { type Container, oneOf, openContainer, type WireColumn, wide } from "./container";
import { byEvent, type LaneClock, wireRows, wireTimes } from "./row_order";
import { readNames } from "./scoped_names";

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
    opens: header.opens,
    predicted: header.predicted,
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
    turn: optional(container, "turn", (name) =>
      byEvent(oneOf(container, name, count, [Uint32Array, Float64Array]), rows),
    ),
    changed: optional(container, "changed", (name) =>
      byEvent(oneOf(container, name, count, [Uint8Array]), rows),
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

/** The header as display/wire/drawn.py writes it; container.ts has checked the version. */
interface Header {
  title: string;
  count: number;
  origin_ns: string;
  span_ns: number;
  lanes: (Omit<Lane, "id"> & LaneClock)[];
  steps: Step[];
  notes: string[];
  opens?: [number, number] | null | undefined;
  predicted: string;
  clocks: WireClock[];
  categories: string[];
  ops: string[];
}

function optional<T>(container: Container, name: string, read: (name: string) => T): T | null {
  return container.column(name) === undefined ? null : read(name);
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
