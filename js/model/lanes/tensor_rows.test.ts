import { describe, expect, it } from "vitest";
import type { Track } from "../wire/memory";
import { randomNumbers } from "../wire/testing/synthetic";
import { MAX_BARS, packTensors } from "./tensor_rows";

type Buffer = [start: number, length: number, bytes: number];

function makeTrack(buffers: readonly Buffer[], unit = 1, unsent = 0): Track {
  const ordered = [...buffers].sort((a, b) => a[0] - b[0]);
  const column = (at: number) => Float64Array.from(ordered, (buffer) => buffer[at]);
  const [starts, lengths, sizes] = [0, 1, 2].map(column);
  const alive = (time: number) =>
    ordered.reduce(
      (sum, [start, length, bytes]) => sum + (start <= time && time < start + length * unit ? bytes : 0),
      0,
    );
  const peak = Math.max(0, ...starts.slice(0, 2000).map(alive));
  return { starts, lengths, sizes, unit, peak, unsent } as unknown as Track;
}

function someBuffers(seed: number, count: number, span: number, longest: number): Buffer[] {
  const random = randomNumbers(seed);
  return Array.from({ length: count }, () => [
    Math.floor(random() * span),
    random() < 0.2 ? 0 : Math.floor(random() ** 3 * longest),
    Math.floor(2 ** (random() * 30)),
  ]);
}

describe("packTensors", () => {
  it.each([
    [1, 300, 2000, 50, 1],
    [2, 900, 100, 80, 1000],
    [3, 1500, 3000, 3000, 3],
    [4, 40, 1, 4, 1],
  ])(
    "draws nothing over anything and loses nothing but what it counts (seed %i)",
    (seed, count, span, longest, unit) => {
      const track = makeTrack(someBuffers(seed, count, span, longest), unit, 7);
      const { rows, height, shown, leftOut } = packTensors(track);
      const seen = new Set<number>();
      let below = 0;
      for (const { row, top, height: tall } of rows) {
        expect(top).toBeGreaterThan(below);
        below = top + tall;
        expect(row.ids.length).toBeGreaterThan(0);
        row.ids.forEach((at, i) => {
          expect(seen.has(at)).toBe(false);
          seen.add(at);
          expect([row.start[i], row.end[i]]).toEqual([
            track.starts[at],
            track.starts[at] + track.lengths[at] * unit,
          ]);
          if (i === 0) return;
          expect(row.start[i]).toBeGreaterThanOrEqual(row.end[i - 1]);
          expect(row.start[i]).toBeGreaterThan(row.start[i - 1]);
        });
      }
      expect(height).toBeGreaterThan(below);
      expect(shown).toBe(seen.size);
      expect(leftOut).toBe(7 + count - seen.size);
      // Large ones all have a row, of the same height, which is more than that of others.
      const large = (at: number) => track.sizes[at] >= track.peak / 32;
      for (const at of track.sizes.keys()) expect(seen.has(at) || !large(at)).toBe(true);
      const heights = (kind: boolean) =>
        rows
          .filter(({ row }) => [...row.ids].some((at) => large(at) === kind))
          .map(({ height: tall }) => tall);
      expect(Math.min(...heights(true))).toBeGreaterThan(Math.max(0, ...heights(false)));
    },
  );

  it("packs large ones into as few rows as are alive at once", () => {
    const track = makeTrack(Array.from({ length: 400 }, (_, at) => [at, 9, 10 + (at % 3)]));
    expect(packTensors(track).rows).toHaveLength(9);
  });

  it("takes the largest of very many", () => {
    const small: Buffer[] = Array.from({ length: MAX_BARS }, (_, at) => [2 * at, 1, 1]);
    const { shown, leftOut, rows } = packTensors(makeTrack([...small, [1, 5, 1000]]));
    expect([shown, leftOut]).toEqual([MAX_BARS, 1]);
    expect([...rows[0].row.ids]).toEqual([1]);
  });

  it("has rows only for the buffers of a range", () => {
    const track = makeTrack(Array.from({ length: 400 }, (_, at) => [at < 200 ? 0 : 10 * at, 9, 10]));
    const { rows, shown, leftOut } = packTensors(track, { start: 3000, end: 3025 });
    expect([rows.length, [...rows[0].row.ids], shown, leftOut]).toEqual([1, [300, 301, 302], 3, 0]);
  });

  it("has no rows for no buffers", () => {
    expect(packTensors(makeTrack([]))).toMatchObject({ rows: [], shown: 0, leftOut: 0 });
  });
});
