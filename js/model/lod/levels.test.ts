import { describe, expect, it } from "vitest";
import type { Row } from "../types";
import { type Made, makeBursts, makeDrawn, randomNumbers } from "../wire/testing/synthetic";
import { type Level, RowLevels } from "./levels";
import { packLanes } from "./rows";

function rowOf(made: Made[]): Row {
  return packLanes(makeDrawn(made), null)[0][0];
}

/** The expected level for a bucket: one entry per run of short events in it, made event by event. */
function expected(row: Row, bucket: number): number[][] {
  const entries: number[][] = [];
  let open = -1;
  row.ids.forEach((_, i) => {
    const length = row.end[i] - row.start[i];
    const place = length < bucket ? Math.floor(row.start[i] / bucket) : -1;
    if (place >= 0 && place === open) entries[entries.length - 1].push(i);
    else entries.push([i]);
    open = place;
  });
  return entries;
}

function checkLevel(row: Row, level: Level): void {
  const entries = expected(row, level.bucket);
  expect(level.length).toBe(entries.length);
  entries.forEach((events, entry) => {
    const lengths = events.map((i) => row.end[i] - row.start[i]);
    const peak = Math.max(...lengths);
    const { start, end, count, busy, longest } = level;
    expect([start[entry], end[entry], count[entry], busy[entry], level.peak[entry], longest[entry]]).toEqual([
      row.start[events[0]],
      row.end[events[events.length - 1]],
      events.length,
      lengths.reduce((sum, length) => sum + length, 0),
      peak,
      events[lengths.indexOf(peak)],
    ]);
  });
}

describe("RowLevels", () => {
  it.each([1, 2, 3])(
    "merges exactly the short neighbours of a bucket, coarse or fine first (seed %i)",
    (seed) => {
      const row = packLanes(makeBursts(1000, 1, seed), null)[0][0];
      const scales = Array.from({ length: 20 }, (_, k) => 4 ** k * 1.5);
      for (const order of [scales, [...scales].reverse()]) {
        const levels = new RowLevels(row);
        for (const scale of order) {
          const level = levels.at(scale);
          expect(level.bucket).toBeLessThanOrEqual(scale);
          checkLevel(row, level);
          expect(level.count.reduce((sum, count) => sum + count, 0)).toBe(row.ids.length);
        }
      }
    },
  );

  it("keeps a level within twice the length of the one it stands for", () => {
    const row = packLanes(makeBursts(3000, 1, 9), null)[0][0];
    const levels = new RowLevels(row);
    for (let k = 0; k <= 16; k++) {
      expect(levels.at(4 ** k).length).toBeLessThanOrEqual(2 * expected(row, 4 ** k).length);
      expect(levels.at(4 ** k)).toBe(levels.at(4 ** k));
    }
  });

  it("is the events themselves when zoomed in", () => {
    const row = packLanes(makeBursts(100, 1, 4), null)[0][0];
    for (const scale of [1e-3, 1, 3.99]) {
      const level = new RowLevels(row).at(scale);
      expect([level.bucket, level.length]).toEqual([1, 100]);
      checkLevel(row, level);
    }
  });

  it("stays exact at the far end of what float64 counts", () => {
    const random = randomNumbers(6);
    const far = 2 ** 53 - 2 ** 20;
    const row = rowOf(
      Array.from({ length: 400 }, () => ({
        start: far + Math.floor(random() * 2 ** 20),
        duration: random() < 0.5 ? 0 : 3,
      })),
    );
    const levels = new RowLevels(row);
    for (const scale of [1, 16, 1000, 1e6, 1e9, 1e12]) checkLevel(row, levels.at(scale));
    expect(levels.at(1e12).length).toBe(1);
  });

  it("never merges long events, nor across an edge of a bucket", () => {
    const row = rowOf([
      { start: 0, duration: 10e9 },
      { start: 10e9, duration: 10e9 },
      { start: 4 ** 18 - 2, duration: 1 },
      { start: 4 ** 18, duration: 1 },
    ]);
    checkLevel(row, new RowLevels(row).at(1e12));
    expect(new RowLevels(row).at(1e12).length).toBe(4);
  });
});
