import { describe, expect, it } from "vitest";
import type { Row } from "../types";
import { type Made, makeDrawn, randomNumbers } from "../wire/testing/synthetic";
import { packLanes } from "./rows";

function overlapping(seed: number, count: number, span: number, longest: number): Made[] {
  const random = randomNumbers(seed);
  return Array.from({ length: count }, () => ({
    start: Math.floor(random() * span),
    duration: random() < 0.2 ? 0 : Math.floor(random() ** 3 * longest),
    lane: Math.floor(random() * 3),
    step: Math.floor(random() * 2),
  }));
}

function shape(rows: Row[]): number[][] {
  return rows.map((row) => [...row.ids]);
}

describe("packLanes", () => {
  it.each([
    [1, 500, 2000, 50],
    [2, 2000, 100, 30],
    [3, 300, 2 ** 53 - 1000, 1000],
    [4, 1000, 5000, 5000],
  ])("loses nothing and draws nothing over anything (seed %i)", (seed, count, span, longest) => {
    const drawn = makeDrawn(overlapping(seed, count, span, longest));
    const seen = new Uint8Array(count);
    packLanes(drawn, null).forEach((rows, lane) => {
      rows.forEach((row, index) => {
        expect([row.lane, row.index]).toEqual([lane, index]);
        expect(row.ids.length).toBeGreaterThan(0);
        row.ids.forEach((id, i) => {
          expect(drawn.lane[id]).toBe(lane);
          expect([row.start[i], row.end[i]]).toEqual([drawn.start[id], drawn.start[id] + drawn.duration[id]]);
          seen[id]++;
          if (i === 0) return;
          expect(row.start[i]).toBeGreaterThan(row.start[i - 1]);
          expect(row.start[i]).toBeGreaterThanOrEqual(row.end[i - 1]);
        });
      });
    });
    expect(seen.every((times) => times === 1)).toBe(true);
  });

  it("keeps lanes without events, and takes only the events of a step", () => {
    const drawn = makeDrawn([
      { start: 0, duration: 2, lane: 2, step: 3 },
      { start: 1, duration: 2, lane: 0, step: 8 },
      { start: 1, duration: 2, lane: 2, step: 8 },
    ]);
    expect(packLanes(drawn, null).map(shape)).toEqual([[[1]], [], [[0], [2]]]);
    expect(packLanes(drawn, 1).map(shape)).toEqual([[[1]], [], [[2]]]);
    expect(packLanes({ ...drawn, step: null }, 0).map(shape)).toEqual([[[1]], [], [[0], [2]]]);
    expect(packLanes({ ...drawn, step: null }, 1).map(shape)).toEqual([[], [], []]);
    expect(packLanes(makeDrawn([]), null)).toEqual([[]]);
  });
});
