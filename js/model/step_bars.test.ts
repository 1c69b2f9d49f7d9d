import { describe, expect, it } from "vitest";
import type { Step } from "./drawn";
import { stepBars, stepName } from "./step_bars";

const steps = (...durations: number[]): Step[] =>
  durations.map((duration, step) => ({ step, start: step * 1000, end: step * 1000 + duration, events: 1 }));

it("names steps by number and label", () => {
  const step = { start: 0, end: 1, events: 1 };
  expect(stepName({ ...step, step: 3 })).toBe("Step 3");
  expect(stepName({ ...step, step: 3, label: "train 7" })).toBe("Step 3 · train 7");
  expect(stepName({ ...step, step: -1 })).toBe("Outside steps");
});

describe("stepBars", () => {
  it("gives one bar a step, as high as it took long", () => {
    const { bars, median, slowest } = stepBars(steps(10, 40, 10, 20), 100);
    expect(bars.map((bar) => bar.height)).toEqual([10 / 30, 1, 10 / 30, 20 / 30]);
    expect(bars.map((bar) => bar.isSlow)).toEqual([false, true, false, true]);
    expect(median).toBe(15);
    expect(slowest).toBe(1);
  });

  it("shows the longest of the steps that share a bar", () => {
    const { bars } = stepBars(steps(1, 9, 2, 3, 4), 2);
    expect(bars.map(({ first, last, longest }) => [first, last, longest])).toEqual([
      [0, 2, 1],
      [3, 4, 4],
    ]);
  });

  it("loses no step, whatever the room", () => {
    for (const most of [1, 2, 3, 7, 50]) {
      const { bars } = stepBars(steps(...Array.from({ length: 41 }, (_, i) => (i * 7) % 13)), most);
      expect(bars.length).toBeLessThanOrEqual(most);
      expect(bars[0].first).toBe(0);
      expect(bars.at(-1)?.last).toBe(40);
      expect(bars.slice(1).map((bar) => bar.first)).toEqual(bars.slice(0, -1).map((bar) => bar.last + 1));
    }
  });

  it("cuts a stray step off so that the others differ", () => {
    const { bars } = stepBars(steps(10, 12, 10, 900), 10);
    expect(bars.map((bar) => Math.round(bar.height * 100))).toEqual([45, 55, 45, 100]);
  });

  it("has no bar for what belongs to no step", () => {
    const [outside, ...rest] = steps(5000, 10, 30, 10);
    const { bars, slowest, median } = stepBars([{ ...outside, step: -1 }, ...rest], 10);
    expect(bars.map((bar) => bar.first)).toEqual([1, 2, 3]);
    expect([slowest, median]).toEqual([2, 10]);
  });

  it("draws steps without length flat", () => {
    expect(stepBars(steps(0, 0), 10).bars.map((bar) => bar.height)).toEqual([0, 0]);
  });
});
