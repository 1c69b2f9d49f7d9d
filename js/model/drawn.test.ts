import { describe, expect, it } from "vitest";
import { readDrawn } from "./drawn";
import { CATEGORIES, makeLane } from "./synthetic";
import { gzip, type Planned, textColumns, writeContainer } from "./writer";

const header = {
  title: "two steps",
  count: 3,
  origin_ns: "1700000000123456789",
  span_ns: 6_000_000_000,
  lanes: [makeLane("ops"), makeLane("recv")],
  steps: [
    { step: 4, start: 0, end: 10, events: 2 },
    { step: 9, start: 5_000_000_000, end: 6_000_000_000, events: 1 },
  ],
  notes: ["one row was repaired"],
  categories: CATEGORIES,
  ops: ["MatMul", "RecvTensor"],
};
const columns: Record<string, Planned> = {
  start: { encoding: "delta-f64-shuffle", values: Float64Array.of(0, 3, 5_000_000_000) },
  duration: { encoding: "shuffle", values: Uint32Array.of(10, 0, 1_000_000_000) },
  name: { encoding: "shuffle", values: Uint32Array.of(0, 1, 0) },
  op: { encoding: "shuffle", values: Uint16Array.of(0, 0, 1) },
  lane: { encoding: "shuffle", values: Uint16Array.of(0, 0, 1) },
  step: { encoding: "shuffle", values: Uint16Array.of(0, 0, 1) },
  category: { encoding: "plain", values: Uint8Array.of(0, 0, 6) },
  wait: { encoding: "shuffle", values: Uint32Array.of(0, 0, 400) },
  ...textColumns(["tower/MatMul", "tower/MatMul_1"]),
};

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
    expect(drawn.start).toEqual(Float64Array.of(0, 3, 5e9));
    expect(drawn.lanes.map((lane) => [lane.id, lane.lane])).toEqual([
      [0, "ops"],
      [1, "recv"],
    ]);
    expect(drawn.steps[1].step).toBe(9);
    expect(drawn.names.get(drawn.name[1])).toBe("tower/MatMul_1");
    expect(drawn.ops[drawn.op[2]]).toBe("RecvTensor");
    expect(drawn.wait).toEqual(Uint32Array.of(0, 0, 400));
    expect(drawn.notes).toEqual(["one row was repaired"]);
  });

  it("takes starts of 32 bits as float64, and columns that were left out as null", async () => {
    const start: Planned = {
      encoding: "delta-shuffle",
      values: Uint32Array.of(0, 4_294_967_290, 4_294_967_295),
    };
    const drawn = await read({}, { start, step: undefined, wait: undefined });
    expect(drawn.start).toEqual(Float64Array.of(0, 4_294_967_290, 4_294_967_295));
    expect([drawn.step, drawn.wait]).toEqual([null, null]);
  });

  it("reads an empty trace", async () => {
    const none = Object.fromEntries(
      Object.entries(columns).map(([name, { encoding, values }]) => [
        name,
        { encoding, values: values.slice(0, 0) },
      ]),
    );
    const drawn = await read({ count: 0, lanes: [], steps: [], ops: [] }, { ...none, ...textColumns([]) });
    expect([drawn.count, drawn.start.length, drawn.names.length]).toEqual([0, 0, 0]);
  });

  it.each([
    ["a missing column", { duration: undefined }, 'no column "duration"'],
    ["a short column", { lane: { encoding: "plain", values: Uint16Array.of(0) } }, "1 items instead of 3"],
    [
      "a column of another type",
      { lane: { encoding: "plain", values: Uint8Array.of(0, 0, 0) } },
      "unexpected type",
    ],
    [
      "an op that is not listed",
      { op: { encoding: "plain", values: Uint16Array.of(0, 2, 0) } },
      "op number 2",
    ],
    [
      "a lane that is not listed",
      { lane: { encoding: "plain", values: Uint16Array.of(0, 0, 9) } },
      "event 2 has lane",
    ],
    [
      "events out of order",
      { start: { encoding: "plain", values: Float64Array.of(0, 3, 2) } },
      "event 2 starts before event 1",
    ],
  ] satisfies [string, Record<string, Planned | undefined>, string][])(
    "refuses %s",
    async (_, changed, message) => {
      await expect(read({}, changed)).rejects.toThrow(message);
    },
  );
});
