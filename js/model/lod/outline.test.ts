import { describe, expect, it } from "vitest";
import { activity } from "../paint/activity";
import { FULL_LEVEL, hitRow, rasterRow } from "../paint/raster";
import type { Entries } from "../wire/bars";
import { CATEGORIES, makeLane, makeStrings } from "../wire/testing/synthetic";
import { RowLevels } from "./levels";
import { byEntry, byEventId, entryOfEvent, eventCount, mergedRows } from "./merged";
import { compose, type Outline } from "./outline";

interface One {
  lane?: number;
  row?: number;
  start: number;
  end: number;
  busy?: number;
  count?: number;
  event: number;
  begin?: number;
  duration?: number;
  name: string;
  step?: number;
}

const NAMES = ["a", "b/c", "d", "e"];

function entries(all: One[]): Entries {
  const own = [...new Set(all.map((one) => one.name))];
  const numbers = (of: (one: One) => number) => Float64Array.from(all, of);
  const words = (of: (one: One) => number) => Uint32Array.from(all, of);
  return {
    length: all.length,
    lane: Uint16Array.from(all, (one) => one.lane ?? 0),
    row: words((one) => one.row ?? 0),
    start: numbers((one) => one.start),
    end: numbers((one) => one.end),
    busy: numbers((one) => one.busy ?? one.end - one.start),
    count: words((one) => one.count ?? 1),
    event: words((one) => one.event),
    begin: numbers((one) => one.begin ?? one.start),
    duration: numbers((one) => one.duration ?? one.end - one.start),
    op: words(() => 0),
    category: new Uint8Array(all.length).fill(1),
    step: words((one) => one.step ?? 0),
    name: words((one) => own.indexOf(one.name)),
    names: makeStrings(own),
    nameNumber: Uint32Array.from(own, (name) => NAMES.indexOf(name)),
    isMatch: null,
  };
}

const lanesOf = (rows: number[]) => rows.map((own, id) => ({ ...makeLane(`stream:${id}`), id, rows: own }));

const outline: Outline = {
  bucket: 128,
  total: 110,
  described: {
    rest: "windows",
    title: "",
    originNs: 0n,
    span: 1000,
    lanes: lanesOf([2, 1]),
    steps: [
      { step: 0, start: 0, end: 500, events: 60 },
      { step: 1, start: 500, end: 1000, events: 50 },
    ],
    notes: [],
    categories: CATEGORIES,
    ops: ["Op"],
  },
  entries: entries([
    { start: 0, end: 100, busy: 40, count: 50, event: 3, begin: 10, duration: 8, name: "a" },
    { start: 128, end: 250, busy: 60, count: 40, event: 60, begin: 200, duration: 20, name: "b/c" },
    { start: 300, end: 700, event: 95, name: "d" },
    { start: 720, end: 800, busy: 20, count: 18, event: 99, name: "a", duration: 4, step: 1 },
    { row: 1, start: 90, end: 120, event: 40, name: "d" },
  ]),
};
const part = {
  lanes: null,
  start: 150,
  end: 400,
  bucket: 1,
  entries: entries([
    { start: 128, end: 180, busy: 30, count: 39, event: 61, begin: 140, duration: 5, name: "e" },
    { start: 200, end: 220, event: 60, name: "b/c" },
    { start: 300, end: 700, event: 95, name: "d" },
  ]),
};

describe("compose", () => {
  it("draws the outline", () => {
    const drawn = compose(outline, null, null);
    const rows = mergedRows(drawn, drawn.merged as never, null);
    expect(rows.map((lane) => lane.length)).toEqual([2, 0]);
    expect([...rows[0][0].ids]).toEqual([0, 1, 2, 3]);
    expect([...rows[0][1].start]).toEqual([90]);
    expect(eventCount(drawn)).toBe(110);
    expect(drawn.names.get(drawn.name[1])).toBe("b/c");
  });

  it("replaces all entries that a part overlaps, in order of time", () => {
    const drawn = compose(outline, part, null);
    const [[row, below]] = mergedRows(drawn, drawn.merged as never, null);
    expect([...row.start]).toEqual([0, 128, 200, 300, 720]);
    expect([...(row.merged?.count ?? [])]).toEqual([50, 39, 1, 1, 18]);
    expect([...below.ids]).toEqual([4]);
    expect([...row.ids].map((id) => drawn.names.get(drawn.name[id]))).toEqual(["a", "e", "b/c", "d", "a"]);
    // The same names have the same numbers, whichever block they came with.
    expect(new Set(drawn.name).size).toBe(drawn.names.length);
  });

  it("replaces only entries of the lanes that a part has", () => {
    const drawn = compose(
      { ...outline, described: { ...outline.described, rest: "lanes" } },
      { ...part, lanes: new Set([1]) },
      null,
    );
    const [first, second] = mergedRows(drawn, drawn.merged as never, null);
    const whole = mergedRows(
      compose(outline, null, null),
      compose(outline, null, null).merged as never,
      null,
    );
    expect([...first[1].start]).toEqual([...whole[0][1].start]);
    expect(first[0].start.length).toBe(whole[0][0].start.length + part.entries.length);
    expect(second.map((row) => row.lane)).toEqual([1]);
  });

  it("has empty rows of lanes that were not asked for", () => {
    const drawn = compose(
      { ...outline, described: { ...outline.described, rest: "lanes", lanes: lanesOf([2, 1, 3]) } },
      null,
      null,
    );
    const rows = mergedRows(drawn, drawn.merged as never, null);
    expect(rows[2].map(({ lane, index, ids }) => [lane, index, ids.length])).toEqual([
      [2, 0, 0],
      [2, 1, 0],
      [2, 2, 0],
    ]);
  });

  it("knows loose events without drawing them", () => {
    const loose = entries([{ start: 60, end: 64, event: 7, name: "e" }]);
    const drawn = compose(outline, part, loose);
    const place = entryOfEvent(drawn, 7) as number;
    expect(drawn.start[place]).toBe(60);
    const rows = mergedRows(drawn, drawn.merged as never, null).flat();
    expect(rows.flatMap((row) => [...row.ids])).not.toContain(place);
  });

  it("keeps the rows of a lane in every step, and leaves out lanes without any", () => {
    const drawn = compose(outline, null, null);
    const [first, second] = mergedRows(drawn, drawn.merged as never, 1);
    expect(first.map((row) => [...row.ids])).toEqual([[3], []]);
    expect(second).toEqual([]);
  });

  it("translates selections between events and places", () => {
    const drawn = compose(outline, part, null);
    // The part came last, so its entry stands for event 60.
    expect(byEntry(drawn, { events: [60, 12345] })).toEqual({ events: [6] });
    expect(byEntry(drawn, { events: [12345] })).toBeNull();
    expect(byEventId(drawn, { events: [6, 0] })).toEqual({ events: [60, 3] });
    const range = { start: 1, end: 2, lanes: null, step: null };
    expect(byEntry(drawn, range)).toBe(range);
  });
});

describe("a merged row", () => {
  const drawn = compose(outline, null, null);
  const [[row]] = mergedRows(drawn, drawn.merged as never, null);
  const levels = new RowLevels(row);

  it("is merged further without losing events or busy time", () => {
    for (const nsPerPixel of [1, 16, 300, 5000]) {
      const level = levels.at(nsPerPixel);
      const sum = (items: ArrayLike<number>) => Array.from(items).reduce((all, one) => all + one, 0);
      expect(sum(level.count)).toBe(109);
      expect(sum(level.busy)).toBe(40 + 60 + 400 + 20);
    }
  });

  it("knows how many events are under the pointer", () => {
    expect(hitRow(row, levels, 50, 200, 3)).toMatchObject({ count: 90 });
    expect(hitRow(row, levels, 50, 1, 3)).toEqual({ id: 0, count: 50 });
    expect(hitRow(row, levels, 500, 1, 3)).toEqual({ id: 2, count: 1 });
  });

  it("is faint where several events fill a wide entry in part, full where one does", () => {
    const out = new Uint16Array(1000);
    rasterRow(out, 0, 1000, row, levels, 0, 1, new Uint8Array(drawn.count));
    expect(out[50] >> 8).toBe(6);
    expect(out[500] >> 8).toBe(FULL_LEVEL);
  });

  it("adds up to its busy time in the overview", () => {
    const rows = mergedRows(drawn, drawn.merged as never, null);
    const { busy } = activity(drawn, rows, null, 0, 1000, 7);
    const all = busy.flatMap((load) => [...load]).reduce((sum, load) => sum + load, 0);
    expect(all).toBeCloseTo(40 + 60 + 400 + 20 + 30, 2);
  });
});
