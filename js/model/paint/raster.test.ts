import { describe, expect, it } from "vitest";
import { RowLevels } from "../lod/levels";
import { packLanes } from "../lod/rows";
import type { Row } from "../types";
import { type Made, makeBursts, makeDrawn, randomNumbers } from "../wire/testing/synthetic";
import { FULL_LEVEL, hitRow, rasterRow } from "./raster";

const GROUND = 0;

function rowOf(made: Made[]): Row {
  return packLanes(makeDrawn(made), null)[0][0];
}

/** Output of `rasterRow`; a paint is the index in the row, modulo 251. */
function raster(
  row: Row,
  from: number,
  nsPerPixel: number,
  width: number,
  levels = new RowLevels(row),
): number[] {
  const paint = new Uint8Array(row.ids.reduce((most, id) => Math.max(most, id), 0) + 1);
  row.ids.forEach((id, i) => {
    paint[id] = i % 251;
  });
  const out = new Uint16Array(width + 7);
  rasterRow(out, 3, width, row, levels, from, nsPerPixel, paint);
  expect([...out.subarray(0, 3), ...out.subarray(width + 3)]).toEqual(Array(7).fill(GROUND));
  return [...out.subarray(3, width + 3)];
}

/** The same, pixel by pixel over all entries of a level; a pixel between two levels of coverage allows both. */
function oracle(from: number, nsPerPixel: number, width: number, levels: RowLevels): number[][] {
  const level = levels.at(nsPerPixel);
  const least = level.busy.some((busy) => busy > 0) ? 2 : FULL_LEVEL;
  const entries = Array.from({ length: level.length }, (_, i) => ({
    first: Math.floor((level.start[i] - from) / nsPerPixel),
    last: Math.floor((level.end[i] - from) / nsPerPixel),
    start: level.start[i],
    end: level.end[i],
    busy: level.busy[i],
    peak: level.peak[i],
    merged: level.count[i] > 1,
    paint: level.longest[i] % 251,
  }));
  const bars = entries.filter(({ first, last }) => last - first >= 3);
  const small = entries.filter(({ first, last }) => last - first < 3);
  return Array.from({ length: width }, (_, pixel) => {
    const left = from + pixel * nsPerPixel;
    const right = from + (pixel + 1) * nsPerPixel;
    const parts = small
      .map((entry) => ({ ...entry, overlap: Math.min(entry.end, right) - Math.max(entry.start, left) }))
      .filter(
        ({ first, last, overlap }) => first === pixel || (first < pixel && pixel <= last && overlap > 0),
      )
      .map((entry) => ({ ...entry, overlap: Math.max(entry.overlap, 0) }));
    const bar = bars.find(({ first, last }) => first <= pixel && pixel < last - 1);
    const begins = parts.some(({ first, merged }) => first === pixel || merged);
    if (bar !== undefined && !(bar.first === pixel && begins)) return [FULL_LEVEL * 256 + bar.paint];
    if (parts.length === 0) return [GROUND];
    const most = parts.reduce((best, each) => (fill(each) > fill(best) ? each : best));
    const busy = parts.reduce(
      (sum, { overlap, busy, start, end }) => sum + (end > start ? (overlap * busy) / (end - start) : 0),
      0,
    );
    const rounded = [-1e-6, 1e-6].map((tiny) => Math.round((busy / nsPerPixel) * FULL_LEVEL + tiny));
    return rounded.map((coverage) => Math.min(Math.max(coverage, least), FULL_LEVEL) * 256 + most.paint);
  });
}

function fill(part: { peak: number; overlap: number }): number {
  return Math.min(part.peak, part.overlap);
}

function expectOracle(row: Row, from: number, nsPerPixel: number, width: number): void {
  const levels = new RowLevels(row);
  const drawn = raster(row, from, nsPerPixel, width, levels);
  const wanted = oracle(from, nsPerPixel, width, levels);
  const wrong = drawn.flatMap((colour, pixel) =>
    wanted[pixel].includes(colour) ? [] : [{ pixel, colour, wanted: wanted[pixel] }],
  );
  expect(wrong).toEqual([]);
}

describe("rasterRow", () => {
  it.each([1, 2, 3, 4])("draws what the slow oracle draws, at all scales (seed %i)", (seed) => {
    const row = packLanes(makeBursts(200, 1, seed), null)[0][0];
    const random = randomNumbers(seed * 77);
    const span = row.end[row.end.length - 1];
    for (let scale = 1e-3; scale < 1e9; scale *= 3.7) {
      const at = row.start[Math.floor(random() * row.ids.length)];
      for (const from of [at - random() * 40 * scale, at, Math.floor(random() * span), 0])
        expectOracle(row, from, scale, 60);
    }
  });

  it.each([7, 8])("agrees with the oracle where events crowd in whole-numbered pixels (seed %i)", (seed) => {
    const random = randomNumbers(seed);
    const crowd = Array.from({ length: 500 }, () => ({
      start: Math.floor(random() * 2000),
      duration: Math.floor(random() ** 2 * 20),
    }));
    for (const row of packLanes(makeDrawn(crowd), null)[0])
      for (const scale of [1, 2, 3, 3.9, 4, 7, 16, 49])
        expectOracle(row, Math.floor(random() * 1000), scale, 80);
  });

  it("agrees with the oracle at the far end of what float64 counts", () => {
    const far = 2 ** 53 - 1e6;
    const random = randomNumbers(10);
    const row = rowOf(
      Array.from({ length: 200 }, () => ({ start: far + Math.floor(random() * 9e5), duration: 40 })),
    );
    for (const scale of [1, 10, 300, 1e4, 1e9]) expectOracle(row, far + 1000, scale, 90);
  });

  it("colours at least one pixel at or next to every event", () => {
    const row = packLanes(makeBursts(2000, 1, 12), null)[0][0];
    for (let scale = 1; scale < 1e6; scale *= 2.3) {
      const from = row.start[700];
      const drawn = raster(row, from, scale, 300);
      row.start.forEach((start) => {
        const pixel = Math.floor((start - from) / scale);
        if (pixel < 0 || pixel >= 299) return;
        expect(drawn.slice(Math.max(pixel - 1, 0), pixel + 2).some((colour) => colour !== GROUND)).toBe(true);
      });
    }
  });

  it("leaves one pixel between bars and fills a window inside of one event", () => {
    const row = rowOf([
      { start: 0, duration: 50 },
      { start: 50, duration: 30 },
      { start: 80, duration: 1000 },
    ]);
    const full = (place: number) => FULL_LEVEL * 256 + place;
    expect(raster(row, 0, 10, 10)).toEqual([
      ...[full(0), full(0), full(0), full(0), GROUND],
      ...[full(1), full(1), GROUND],
      ...[full(2), full(2)],
    ]);
    expect(raster(row, 500, 0.001, 4)).toEqual(Array(4).fill(full(2)));
    expect(raster(row, 81, 10, 3)).toEqual(Array(3).fill(full(2)));
  });

  it("gives tiny events a level by how much of the pixel is busy, the longest its paint, and none less than 2", () => {
    const row = rowOf([
      { start: 0, duration: 100 },
      { start: 100, duration: 300 },
      { start: 1000 },
      { start: 2000, duration: 1000 },
    ]);
    expect(raster(row, 0, 1000, 4)).toEqual([6 * 256 + 1, 2 * 256 + 2, 15 * 256 + 3, GROUND]);
  });

  it("gives marks of no length the full level where nothing of their row lasts", () => {
    const marks = [0, 5, 6].map((start) => ({ start, duration: 0 }));
    expect(raster(rowOf(marks), 0, 4, 3)).toEqual([FULL_LEVEL * 256, FULL_LEVEL * 256 + 1, GROUND]);
    const beside = [...marks, { start: 8, duration: 1 }];
    expect(raster(rowOf(beside), 0, 4, 3).map((code) => code >> 8)).toEqual([2, 2, 4]);
  });

  it("lets an event that begins in the first pixel of a bar have that pixel", () => {
    const row = rowOf([{ start: 20 }, { start: 24, duration: 500 }]);
    expect(raster(row, 0, 10, 5)).toEqual([
      GROUND,
      GROUND,
      2 * 256,
      FULL_LEVEL * 256 + 1,
      FULL_LEVEL * 256 + 1,
    ]);
  });

  it("draws nothing before, after, between events and for an empty row", () => {
    const row = rowOf([
      { start: 100, duration: 10 },
      { start: 900, duration: 10 },
    ]);
    for (const from of [0, 110, 300, 910, 1e12])
      expect(raster(row, from, 1, 90)).toEqual(Array(90).fill(GROUND));
    const empty = {
      lane: 0,
      index: 0,
      ids: new Uint32Array(0),
      start: new Float64Array(0),
      end: new Float64Array(0),
    };
    expect(raster(empty, 0, 1, 5)).toEqual(Array(5).fill(GROUND));
  });
});

describe("hitRow", () => {
  const row = rowOf([
    { start: 0, duration: 100 },
    { start: 100, duration: 2 },
    { start: 103 },
    { start: 1000, duration: 5 },
    { start: 9000, duration: 1 },
  ]);
  const hit = (time: number, nsPerPixel: number, slack: number) =>
    hitRow(row, new RowLevels(row), time, nsPerPixel, slack);

  it("finds the bar that spans the time", () => {
    expect(hit(50, 1, 0)).toEqual({ id: 0, count: 1 });
    expect(hit(99.5, 1, 0)).toEqual({ id: 0, count: 1 });
    expect(hit(102.9, 0.01, 0)).toBeNull();
    expect(hit(103, 0.01, 0)).toEqual({ id: 2, count: 1 });
  });

  it("counts the events in the pixel and names the longest", () => {
    expect(hit(103, 10, 0)).toEqual({ id: 0, count: 3 });
    expect(hit(500, 2000, 0)).toEqual({ id: 0, count: 4 });
    expect(hit(5000, 20_000, 0)).toEqual({ id: 0, count: 5 });
  });

  it("reaches as far as the slack", () => {
    expect(hit(1008, 1, 2)).toBeNull();
    expect(hit(1007, 1, 2)).toEqual({ id: 3, count: 1 });
    expect(hit(990, 5, 2)).toEqual({ id: 3, count: 1 });
    expect(hit(-9, 3, 3)).toEqual({ id: 0, count: 1 });
  });

  it("agrees with a look at every event (seed 3)", () => {
    const bursts = packLanes(makeBursts(2000, 1, 3), null)[0][0];
    const levels = new RowLevels(bursts);
    const random = randomNumbers(4);
    for (let scale = 1; scale < 1e7; scale *= 5) {
      for (let n = 0; n < 50; n++) {
        const time = bursts.start[Math.floor(random() * 2000)] + Math.floor(random() * 3 * scale) + 0.25;
        const [left, right] = [time - scale / 2, time + scale / 2];
        const places = [...bursts.ids.keys()];
        const inside = places.filter(
          (i) => bursts.start[i] < right && (bursts.end[i] > left || bursts.start[i] >= left),
        );
        const bar = inside.find(
          (i) => bursts.start[i] <= time && time < bursts.end[i] && bursts.end[i] - bursts.start[i] >= scale,
        );
        const found = hitRow(bursts, levels, time, scale, 0);
        if (bar !== undefined) expect(found).toEqual({ id: bursts.ids[bar], count: 1 });
        else if (inside.length === 0) expect(found).toBeNull();
        else {
          expect(found?.count).toBe(inside.length);
          expect(inside.map((i) => bursts.ids[i])).toContain(found?.id);
        }
      }
    }
  });
});
