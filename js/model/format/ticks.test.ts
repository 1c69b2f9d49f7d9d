import { describe, expect, it } from "vitest";
import { randomNumbers } from "../wire/testing/synthetic";
import { ticks } from "./ticks";

describe("ticks", () => {
  it("count from a base when the whole time would be too long", () => {
    const ruler = ticks({ start: 12_345_678_100, end: 12_345_678_110 }, 1000);
    expect(ruler.base).toBe("12.345678 s +");
    expect(ruler.ticks[0]).toMatchObject({ time: 12_345_678_100, label: "100 ns", x: 0 });
    expect(ruler.ticks.map((tick) => tick.label)).toEqual(
      Array.from({ length: 11 }, (_, n) => `${100 + n} ns`),
    );
  });

  it.each([1, 2, 3])(
    "rise by 1, 2 or 5, lie in view, are far enough apart and all different (seed %i)",
    (seed) => {
      const random = randomNumbers(seed);
      for (let n = 0; n < 150; n++) {
        const start = (random() - 0.1) * 10 ** (random() * 15.9);
        const end = start + 10 ** (1 + random() * 12);
        const span = end - start;
        const width = 200 + random() * 3000;
        const { ticks: list } = ticks({ start, end }, width);
        const steps = list.slice(1).map((tick, i) => tick.time - list[i].time);
        for (const step of steps) {
          expect(step).toBe(steps[0]);
          expect(["1", "2", "5"]).toContain(String(step).replace(/0+$/, ""));
        }
        if (list.length > 1)
          expect(list[1].x - list[0].x).toBeGreaterThanOrEqual(Math.min(88, width / 5) - 1e-3);
        expect(new Set(list.map((tick) => tick.label)).size).toBe(list.length);
        for (const tick of list) {
          expect(tick.time).toBeGreaterThanOrEqual(start);
          expect(tick.time).toBeLessThanOrEqual(end);
          expect(tick.x).toBeCloseTo(((tick.time - start) / span) * width, 3);
        }
        expect(list.length).toBeGreaterThanOrEqual(Math.floor(Math.min(width / 88 / 2.5, span)) - 1);
      }
    },
  );

  it.each([100, 214, 321])("are two at least in %i px", (width) => {
    for (let end = 10; end < 1e10; end *= 1.3)
      expect(ticks({ start: 0.3 * end, end }, width).ticks.length).toBeGreaterThanOrEqual(2);
  });

  it("are absent without room or time", () => {
    expect(ticks({ start: 5, end: 5 }, 100).ticks).toEqual([]);
    expect(ticks({ start: 0, end: 5 }, 0).ticks).toEqual([]);
  });
});
