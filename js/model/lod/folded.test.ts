import { describe, expect, it } from "vitest";
import { hitRow } from "../paint/raster";
import { type Made, makeDrawn, randomNumbers } from "../wire/testing/synthetic";
import { beginsFolded, foldRows } from "./folded";
import { RowLevels } from "./levels";
import { packLanes } from "./rows";

const rowsOf = (made: Made[]) => packLanes(makeDrawn(made), null)[0];
const pieces = (made: Made[]) => {
  const { ids, start, end } = foldRows(rowsOf(made));
  return Array.from(ids, (id, at) => [id, start[at], end[at]]);
};

describe("foldRows", () => {
  it("leaves out covered events and cuts those covered in part", () => {
    expect(
      pieces([
        { start: 0, duration: 10 },
        { start: 2, duration: 3 },
        { start: 8, duration: 7 },
        { start: 20, duration: 0 },
        { start: 20, duration: 5 },
      ]),
    ).toEqual([
      [0, 0, 10],
      [2, 10, 15],
      [3, 20, 25],
    ]);
  });

  it("has a wait only where nothing moves, in one piece with what follows it", () => {
    const made = [
      { start: 0, duration: 20 },
      { start: 1, duration: 4 },
      { start: 6, duration: 3 },
      { start: 30, duration: 4 },
    ];
    const drawn = makeDrawn(made);
    drawn.wait = Uint32Array.of(18, 1, 0, 4);
    drawn.tail = Uint32Array.of(2, 0, 0, 0);
    const row = foldRows(packLanes(drawn, null)[0], drawn);
    expect(Array.from(row.ids, (id, at) => [id, row.start[at], row.end[at]])).toEqual([
      [0, 0, 2],
      [1, 2, 5],
      [0, 5, 6],
      [2, 6, 9],
      [0, 9, 20],
      [3, 30, 34],
    ]);
    expect(hitRow(row, new RowLevels(row), 10, 40, 0)?.count).toBe(3);
  });

  it("keeps events of zero length if nothing else runs", () => {
    expect(pieces([{ start: 0, duration: 4 }, { start: 4 }, { start: 4 }, { start: 9 }])).toEqual([
      [0, 0, 4],
      [1, 4, 4],
      [2, 4, 4],
      [3, 9, 9],
    ]);
  });

  it.each([1, 2, 3])("is as long as the lane is busy, in order and without overlap (seed %i)", (seed) => {
    const random = randomNumbers(seed);
    const made = Array.from({ length: 300 }, () => ({
      start: Math.floor(random() * 500),
      duration: Math.floor(random() * 12),
    }));
    const { start, end } = foldRows(rowsOf(made));
    const isBusy = new Uint8Array(600);
    for (const { start, duration } of made) isBusy.fill(1, start, start + duration);
    const drawn = new Uint8Array(600);
    start.forEach((from, at) => {
      if (at > 0) expect(from).toBeGreaterThanOrEqual(end[at - 1]);
      drawn.fill(1, from, end[at]);
    });
    expect(drawn).toEqual(isBusy);
  });

  it("shares out the busy time of entries that stand for several events", () => {
    const entry = (start: number, end: number, busy: number, id: number) => ({
      lane: 0,
      index: id,
      ids: Uint32Array.of(id),
      start: Float64Array.of(start),
      end: Float64Array.of(end),
      merged: { busy: Float64Array.of(busy), peak: Float64Array.of(busy), count: Uint32Array.of(2) },
    });
    const { merged, start } = foldRows([entry(0, 100, 50, 0), entry(80, 180, 40, 1)]);
    expect([...start]).toEqual([0, 100]);
    expect([...(merged?.busy ?? [])]).toEqual([50, 32]);
  });
});

describe("beginsFolded", () => {
  const stack = (depth: number, duration: number) =>
    Array.from({ length: depth }, (_, at) => ({ start: at, duration }));

  it("is so of lanes with more than 12 rows", () => {
    expect(beginsFolded(rowsOf(stack(12, 1000)), 1000)).toBe(false);
    expect(beginsFolded(rowsOf(stack(13, 1000)), 1000)).toBe(true);
  });

  it("is so where further rows have next to nothing, or all rows are nearly empty; never of one row", () => {
    const chain = Array.from({ length: 200 }, (_, at) => ({ start: at * 10, duration: 10 }));
    expect(beginsFolded(rowsOf([...chain, { start: 5, duration: 3 }]), 2000)).toBe(true);
    expect(beginsFolded(rowsOf([...chain.slice(0, 50), { start: 5, duration: 3 }]), 2000)).toBe(false);
    expect(beginsFolded(rowsOf(stack(3, 1000)), 1e6)).toBe(true);
    expect(beginsFolded(rowsOf(stack(3, 1000)), 9e4)).toBe(false);
    expect(beginsFolded(rowsOf([{ start: 0, duration: 1 }]), 1e8)).toBe(false);
  });
});
