import { describe, expect, it } from "vitest";
import { readDrawn } from "./bars";
import { CATEGORIES, makeLane } from "./testing/synthetic";
import { gzip, type Planned, textColumns, writeContainer } from "./testing/write_container";

// Events 0 to 3 start at 0, 3, 5 s and 5 s + 10; the second is on the lane below, which ticks in microseconds.
const header = {
  title: "two steps",
  count: 4,
  origin_ns: "1700000000123456789",
  span_ns: 6_000_000_000,
  lanes: [makeLane("ops"), makeLane("recv")],
  slots: { first: [0, 3], unit: [1, 1000] },
  steps: [
    { step: 4, start: 0, end: 10, events: 2 },
    { step: 9, start: 5_000_000_000, end: 6_000_000_000, events: 2 },
  ],
  notes: ["one row was repaired"],
  clocks: [],
  categories: CATEGORIES,
  ops: ["MatMul", "RecvTensor"],
};
/** `slot` by event, the others by slot: events 0, 2, 3, 1. */
const columns: Record<string, Planned> = {
  slot: { encoding: "shuffle", values: Uint16Array.of(0, 1, 0, 0) },
  gap: { encoding: "shuffle", values: Float64Array.of(0, 4_999_999_990, -5, 0) },
  extent: { encoding: "shuffle", values: Uint32Array.of(10, 15, 0, 7) },
  name: { encoding: "shuffle", values: Uint32Array.of(0, 1, 0, 2) },
  op: { encoding: "shuffle", values: Uint16Array.of(0, 0, 0, 1) },
  step: { encoding: "shuffle", values: Uint16Array.of(0, 1, 1, 0) },
  category: { encoding: "plain", values: Uint8Array.of(0, 0, 0, 6) },
  wait: { encoding: "shuffle", values: Uint32Array.of(0, 0, 0, 400) },
  ...nameColumns([2, 2, 0], [1, 2, 3], [0, 1], [0, 0], ["tower", "MatMul", "MatMul_1", "w"]),
};

/** Names as their scopes and parts, with scopes as their parents and parts. */
function nameColumns(
  scopes: number[],
  parts: number[],
  parents: number[],
  scopeParts: number[],
  texts: string[],
): Record<string, Planned> {
  const { strings_bytes, strings_offsets } = textColumns(texts);
  return {
    name_scope: { encoding: "delta-shuffle", values: Uint32Array.from(scopes) },
    name_part: { encoding: "shuffle", values: Uint32Array.from(parts) },
    scope_parent: { encoding: "delta-shuffle", values: Uint32Array.from(parents) },
    scope_part: { encoding: "shuffle", values: Uint32Array.from(scopeParts) },
    parts_bytes: strings_bytes,
    parts_offsets: strings_offsets,
  };
}

async function read(changedHeader: object, changedColumns: Record<string, Planned | undefined>) {
  const all = Object.entries({ ...columns, ...changedColumns }).filter(
    (entry): entry is [string, Planned] => entry[1] !== undefined,
  );
  return readDrawn(await gzip(writeContainer({ ...header, ...changedHeader }, Object.fromEntries(all))));
}

describe("readDrawn", () => {
  it("reads everything that is drawn", async () => {
    const drawn = await read({}, {});
    expect(drawn.originNs).toBe(1_700_000_000_123_456_789n);
    expect(drawn.start).toEqual(Float64Array.of(0, 3, 5e9, 5e9 + 10));
    expect(drawn.duration).toEqual(Float64Array.of(10, 7000, 15, 0));
    expect(drawn.lanes.map((lane) => [lane.id, lane.lane])).toEqual([
      [0, "ops"],
      [1, "recv"],
    ]);
    expect(drawn.lanes[1]).not.toHaveProperty("clock");
    expect(drawn.steps[1].step).toBe(9);
    expect(drawn.step).toEqual(Uint16Array.of(0, 0, 1, 1));
    expect([0, 1, 2, 3].map((event) => drawn.names.get(drawn.name[event]))).toEqual([
      "tower/tower/MatMul",
      "w",
      "tower/tower/MatMul_1",
      "tower/tower/MatMul",
    ]);
    expect(drawn.ops[drawn.op[1]]).toBe("RecvTensor");
    expect(drawn.category).toEqual(Uint8Array.of(0, 6, 0, 0));
    expect(drawn.wait).toEqual(Uint32Array.of(0, 400, 0, 0));
    expect(drawn.notes).toEqual(["one row was repaired"]);
  });

  it("reads gaps of 32 bits, of either sign, and columns that were left out as null", async () => {
    const gap: Planned = { encoding: "shuffle", values: Uint32Array.of(0, 8_000_000, 29, 0) };
    const drawn = await read({}, { gap, step: undefined, wait: undefined });
    expect(drawn.start).toEqual(Float64Array.of(0, 3, 4_000_010, 4_000_010));
    expect([drawn.step, drawn.wait]).toEqual([null, undefined]);
  });

  it("gives lanes the clock of their task", async () => {
    const { task } = header.lanes[0];
    const first = { task: "/job:other/task:0", low: 0, high: 0 };
    const drawn = await read({ clocks: [first, { task, low: -4, high: null }] }, {});
    const clock = { task, low: -4, high: Infinity, against: first.task };
    expect(drawn.lanes.map((lane) => lane.clock)).toEqual([clock, clock]);
  });

  it("reads an empty trace", async () => {
    const none = Object.fromEntries(
      Object.entries(columns).map(([name, { encoding, values }]) => [
        name,
        { encoding, values: values.slice(0, 0) },
      ]),
    );
    const drawn = await read(
      { count: 0, lanes: [], steps: [], ops: [], slots: { first: [], unit: [] } },
      { ...none, ...nameColumns([], [], [], [], []) },
    );
    expect([drawn.count, drawn.start.length, drawn.names.length]).toEqual([0, 0, 0]);
  });

  it.each([
    ["a missing column", { extent: undefined }, 'no column "extent"'],
    ["a short column", { slot: { encoding: "plain", values: Uint16Array.of(0) } }, "1 items instead of 4"],
    [
      "a column of another type",
      { slot: { encoding: "plain", values: Uint8Array.of(0, 0, 0, 0) } },
      "unexpected type",
    ],
    [
      "an op that is not listed",
      { op: { encoding: "plain", values: Uint16Array.of(0, 2, 0, 0) } },
      "op number 2",
    ],
    [
      "a lane that is not listed",
      { slot: { encoding: "plain", values: Uint16Array.of(0, 0, 9, 0) } },
      "event 2 has lane",
    ],
    [
      "events out of order",
      { gap: { encoding: "plain", values: Float64Array.of(0, -9, 0, 0) } },
      "event 2 starts before event 1",
    ],
    [
      "a name of a scope that is missing",
      { name_scope: { encoding: "plain", values: Uint32Array.of(2, 3, 0) } },
      "name 1 is made of parts that are missing",
    ],
    [
      "a scope inside of itself",
      { scope_parent: { encoding: "plain", values: Uint32Array.of(1, 1) } },
      "name 0 is made of parts that are missing",
    ],
  ] satisfies [string, Record<string, Planned | undefined>, string][])(
    "refuses %s",
    async (_, changed, message) => {
      await expect(read({}, changed)).rejects.toThrow(message);
    },
  );
});
