import { describe, expect, it } from "vitest";
import { kindIn } from "../lanes/event_text";
import { CATEGORIES, makeDrawn, makeLane, randomNumbers } from "../wire/testing/synthetic";
import { eventsIn, type RangeSelection, rangeStatistics } from "./range_statistics";

const random = randomNumbers(11);
const drawn = makeDrawn(
  Array.from({ length: 600 }, (_, i) => ({
    start: Math.floor(random() * 5000),
    duration: random() < 0.15 ? 0 : Math.floor(random() ** 3 * 400),
    name: `node_${i % 37}`,
    op: `Op${i % 7}`,
    lane: i % 3,
    step: 10 + (i % 2),
    category: i % 5,
  })),
);
const everything: RangeSelection = { start: 0, end: drawn.span, lanes: null, step: null };

/** Ids of the events that belong to the selection, asked event by event. */
function belonging({ start: from, end: to, lanes, step }: RangeSelection): number[] {
  return [...drawn.start.keys()].filter((id) => {
    const [start, end] = [drawn.start[id], drawn.start[id] + drawn.duration[id]];
    const inside = start === end ? from <= start && start <= to : start < to && end > from;
    const ofStep = step === null || drawn.steps[drawn.step?.[id] ?? 0].step === step;
    return inside && ofStep && (lanes === null || lanes.includes(drawn.lane[id]));
  });
}

/** The ns of the range during which some event ran, counted one by one. */
function busyTime(ids: number[], from: number, to: number): number {
  const seen = new Uint8Array(to - from);
  for (const id of ids) {
    const end = Math.min(drawn.start[id] + drawn.duration[id], to);
    for (let t = Math.max(drawn.start[id], from); t < end; t++) seen[t - from] = 1;
  }
  return seen.reduce((sum, flag) => sum + flag, 0);
}

const selections: RangeSelection[] = [
  everything,
  { start: 1000, end: 1700, lanes: null, step: null },
  { start: 1000, end: 1700, lanes: [0, 2], step: 11 },
  { start: 1234, end: 1235, lanes: [1], step: null },
  { start: 2000, end: 4000, lanes: null, step: 10 },
  { start: 2000, end: 2000, lanes: null, step: null },
];

describe.each(selections)("the selection %j", (selection) => {
  it("holds the events that overlap it", () => {
    expect([...eventsIn(drawn, selection)]).toEqual(belonging(selection));
  });

  it.each(["op", "name"] as const)("has right figures by %s", (by) => {
    const ids = belonging(selection);
    const { rows, count, busy, total } = rangeStatistics(drawn, selection, by);
    expect(count).toBe(ids.length);
    expect(busy).toBe(busyTime(ids, selection.start, selection.end));
    const lengths = (of: number[]) => of.map((id) => drawn.duration[id]);
    const sum = (numbers: number[]) => numbers.reduce((all, each) => all + each, 0);
    expect(total).toBe(sum(lengths(ids)));
    const labelOf = (id: number) => (by === "op" ? drawn.ops[drawn.op[id]] : drawn.names.get(drawn.name[id]));
    const kind = (category: number) => kindIn(CATEGORIES[category]);
    const kindOf = (id: number) => `${labelOf(id)} ${kind(drawn.category[id])}`;
    expect(new Set(rows.map((row) => `${row.label} ${kind(row.category)}`))).toEqual(
      new Set(ids.map(kindOf)),
    );
    expect(rows.length).toBe(new Set(ids.map(kindOf)).size);
    for (const row of rows) {
      const mine = ids.filter((id) => kindOf(id) === `${row.label} ${kind(row.category)}`);
      expect(row.count).toBe(mine.length);
      expect(row.total).toBe(sum(lengths(mine)));
      expect(row.busy).toBe(busyTime(mine, selection.start, selection.end));
      expect(row.mean).toBe(row.total / row.count);
      expect([row.min, row.max]).toEqual([Math.min(...lengths(mine)), Math.max(...lengths(mine))]);
      expect(row.category).toBe(drawn.category[row.longest]);
      expect(row.longest).toBe(mine[lengths(mine).indexOf(row.max)]);
      expect(sum(row.bins)).toBe(row.count);
    }
    const times = rows.map((row) => row.busy);
    expect(times).toEqual([...times].sort((a, b) => b - a));
  });
});

describe("a selection of nothing", () => {
  it("has no rows", () => {
    for (const nothing of [{ lanes: [] }, { step: 99 }, { start: 1e9, end: 2e9 }]) {
      const empty = { rows: [], count: 0, busy: 0, total: 0 };
      expect(rangeStatistics(drawn, { ...everything, ...nothing }, "op")).toEqual(empty);
    }
  });
});

describe("the self time", () => {
  const host = CATEGORIES.findIndex((each) => kindIn(each) === "host");
  const op = CATEGORIES.findIndex((each) => kindIn(each) === "op");
  const rows = (events: Parameters<typeof makeDrawn>[0], lanes: Parameters<typeof makeDrawn>[1]) =>
    Object.fromEntries(
      rangeStatistics(makeDrawn(events, lanes), { ...everything, end: 100 }, "op").rows.map((row) => [
        row.label,
        row.self,
      ]),
    );

  it("of a call that runs an op is the op's", () => {
    const events = [
      { start: 0, duration: 90, op: "run", category: host },
      { start: 10, duration: 60, op: "MatMul", category: op },
      { start: 20, duration: 40, op: "ParallelFor", category: host },
      { start: 30, duration: 20, op: "EagerKernelExecute", category: host },
      { start: 35, duration: 5, op: "leaf", category: host },
      { start: 80, duration: 5, op: "ParallelFor2", category: host },
    ];
    expect(rows(events, [makeLane("python")])).toEqual({
      run: 25,
      MatMul: 55,
      ParallelFor: 0,
      EagerKernelExecute: 0,
      leaf: 5,
      ParallelFor2: 5,
    });
  });

  it("of a function is unknown beside its ops", () => {
    const events = [
      { start: 0, duration: 90, op: "StatefulPartitionedCall", category: op },
      { start: 10, duration: 60, op: "MatMul", category: op },
    ];
    expect(rows(events, [makeLane("ops")])).toEqual({
      StatefulPartitionedCall: null,
      MatMul: 60,
    });
  });
});
