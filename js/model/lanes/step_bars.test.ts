import { describe, expect, it } from "vitest";
import type { Step } from "../types";
import { makeDrawn } from "../wire/testing/synthetic";
import { busyLabel, eventsShown, isSparse, stepBars, stepName, timeOutside } from "./step_bars";

const steps = (...durations: number[]): Step[] =>
  durations.map((duration, step) => ({ step, start: step * 1000, end: step * 1000 + duration, events: 1 }));

/** Steps that took so long, in which a device was busy so long. */
const worked = (...each: [number, number][]): Step[] =>
  steps(...each.map(([duration]) => duration)).map((step, place) => ({ ...step, device: each[place][1] }));

it("names steps by number and label", () => {
  const step = { start: 0, end: 1, events: 1 };
  expect(stepName({ ...step, step: 3 })).toBe("Step 3");
  expect(stepName({ ...step, step: 3, label: "train 7" })).toBe("Step 3 · train 7");
  expect(stepName({ ...step, step: -1 })).toBe("Outside steps");
});

it("takes the run without its steps as the time outside them, not the span of the events outside", () => {
  const times = [
    [0, 100],
    [10, 30],
    [25, 50],
    [70, 90],
  ];
  const all = times.map(([start, end], place) => ({ step: place - 1, start, end, events: 1 }));
  expect(timeOutside({ steps: all, span: 100 })).toBe(40);
});

it("counts the events shown", () => {
  const run = { ...makeDrawn([{ start: 0 }, { start: 1 }, { start: 2 }]), steps: steps(10, 10, 10) };
  run.steps[0].step = -1;
  expect(eventsShown({ run, step: 1, aligned: null })).toBe(1);
  expect(eventsShown({ run, step: null, aligned: null })).toBe(3);
  expect(eventsShown({ run, step: null, aligned: {} })).toBe(2);
});

describe("stepBars", () => {
  it("gives one bar a step, as high as it took long", () => {
    expect(stepBars(steps(10, 8, 10, 20), 100).bars.map((bar) => bar.height)).toEqual([0.5, 0.4, 0.5, 1]);
    const { bars, ratios, slowest } = stepBars(steps(10, 40, 10, 20), 100);
    expect(bars.map((bar) => bar.isSlow)).toEqual([false, true, false, true]);
    expect(ratios).toEqual([1, 4, 1, 2]);
    expect(slowest).toBe(1);
  });

  it("sets a slow first step apart from the slowest", () => {
    const { slowest, isFirstApart } = stepBars(steps(40, 10, 12, 10), 100);
    expect([slowest, isFirstApart]).toEqual([2, true]);
    expect(stepBars(steps(14, 10, 16, 10), 100).isFirstApart).toBe(false);
  });

  it("leaves a slow first step out of the medians", () => {
    const { ratios, busyRatios } = stepBars(worked([28, 20], [12, 6], [10, 4], [11, 5], [13, 7]), 100);
    expect([ratios[0], busyRatios[0]]).toEqual([28 / 11, 20 / 5]);
    expect(stepBars(steps(10, 14, 12, 13), 100).ratios[0]).toBe(10 / 12);
  });

  it("compares steps with those of their kind", () => {
    const all = worked([30, 9], [10, 2], [31, 9], [18, 5], [33, 9], [10, 2]).map((step, place) => ({
      ...step,
      kind: place % 2,
    }));
    const { bars, ratios, busyRatios, slowest } = stepBars(all, 10);
    expect(ratios).toEqual([30 / 31, 1, 1, 1.8, 33 / 31, 1]);
    expect(busyRatios).toEqual([1, 1, 1, 2.5, 1, 1]);
    expect(bars.map(({ isSlow, isBusy }) => [isSlow, isBusy])).toEqual(
      [0, 1, 2, 3, 4, 5].map((place) => [place === 3, place === 3]),
    );
    expect([slowest, stepBars(all, 1).bars[0].described]).toEqual([3, 3]);
    // A first step is compared with the others of its kind.
    const [, ...rest] = all;
    expect(stepBars([{ ...all[0], end: 47 }, ...rest], 10).isFirstApart).toBe(true);
    expect(stepBars([{ ...all[0], end: 46 }, ...rest], 10).isFirstApart).toBe(false);
  });

  it("describes the longest of the steps that share a bar", () => {
    const { bars } = stepBars(steps(1, 9, 2, 3, 4), 2);
    expect(bars.map(({ first, last, described }) => [first, last, described])).toEqual([
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

  it("has logarithmic heights above the median if a step is much longer", () => {
    const { bars } = stepBars(steps(10, 5, 10, 20, 10, 40, 160, 10), 10);
    expect(bars.map((bar) => bar.height)).toEqual([4, 2, 4, 5, 4, 6, 8, 4].map((part) => part / 8));
    expect(stepBars(steps(0, 0, 0), 10).bars.map((bar) => bar.height)).toEqual([0, 0, 0]);
  });

  it("has no bar for events outside steps", () => {
    const [outside, ...rest] = steps(5000, 10, 30, 10);
    const { bars, slowest, ratios } = stepBars([{ ...outside, step: -1 }, ...rest], 10);
    expect(bars.map((bar) => bar.first)).toEqual([1, 2, 3]);
    expect([slowest, ratios]).toEqual([2, [0, 1, 3, 1]]);
  });

  it("draws steps without length flat", () => {
    expect(stepBars(steps(0, 0), 10).bars.map((bar) => bar.height)).toEqual([0, 0]);
  });

  it("highlights steps with a device busy longer than usual, by the same ratio as for durations", () => {
    const { bars, busyRatios } = stepBars(worked([40, 8], [40, 10], [60, 10], [40, 20], [40, 13]), 10);
    expect(busyRatios).toEqual([0.8, 1, 1, 2, 1.3]);
    expect(bars.map((bar) => bar.busy)).toEqual([8, 10, 10, 20, 13].map((busy) => busy / 60));
    expect(bars.map((bar) => bar.isBusy)).toEqual([false, false, false, true, false]);
    expect(bars.map((bar) => bar.isSlow)).toEqual([false, false, true, false, false]);
  });

  it("highlights a bar when a device was busy longer in any of its steps, and describes that step", () => {
    const ordinary: [number, number] = [40, 10];
    const all = worked(
      ...Array.from({ length: 41 }, (_, i): [number, number] => (i === 29 ? [39, 20] : ordinary)),
    );
    for (const most of [2, 3, 7, 50]) {
      const lit = stepBars(all, most).bars.filter((bar) => bar.isBusy);
      expect(lit.map(({ described, isSlow }) => [described, isSlow])).toEqual([[29, false]]);
    }
    // What took longer is described of first.
    all[28] = { ...all[28], end: all[28].start + 100 };
    const [bar] = stepBars(all, 1).bars;
    expect([bar.described, bar.isSlow, bar.isBusy]).toEqual([28, true, true]);
  });

  it("marks steps of at least 1.5 times the median, like the analyses", () => {
    const { bars } = stepBars(worked([100, 10], [149, 14], [100, 10], [150, 15], [100, 10]), 10);
    expect(bars.map((bar) => bar.isSlow)).toEqual([false, false, false, true, false]);
    expect(bars.map((bar) => bar.isBusy)).toEqual([false, false, false, true, false]);
  });

  it("highlights no device if none was busy in most steps", () => {
    const { bars, busyRatios } = stepBars(worked([9, 0], [9, 0], [9, 0], [9, 2], [9, 4]), 10);
    expect(busyRatios.some(Boolean)).toBe(false);
    expect(bars.some((bar) => bar.isBusy)).toBe(false);
  });

  it("highlights no device if none is known or busy", () => {
    for (const all of [steps(10, 40, 10), worked([10, 0], [40, 0], [10, 0])]) {
      const { bars, busyRatios } = stepBars(all, 10);
      expect(busyRatios.some(Boolean)).toBe(false);
      expect(bars.map(({ busy, isBusy }) => [busy, isBusy])).toEqual([0, 1, 2].map(() => [0, false]));
    }
  });

  it("leaves device time outside steps out of the median", () => {
    const [outside, ...rest] = worked([5000, 900], [9, 2], [9, 2], [9, 4]);
    const { bars, busyRatios } = stepBars([{ ...outside, step: -1 }, ...rest], 10);
    expect(busyRatios).toEqual([0, 1, 1, 2]);
    expect(bars.map(({ first, isBusy }) => [first, isBusy])).toEqual([
      [1, false],
      [2, false],
      [3, true],
    ]);
  });
});

describe("isSparse", () => {
  it("is so of a few steps far apart, and never of many", () => {
    const apart = (count: number) =>
      Array.from({ length: count }, (_, step) => ({
        step,
        start: 100 * step,
        end: 100 * step + 9,
        events: 1,
      }));
    expect([1, 2, 60].map((count) => isSparse({ steps: apart(count), span: 100 * count }))).toEqual([
      false,
      true,
      false,
    ]);
  });
});

describe("busyLabel", () => {
  const lane = (device: string, task = "") => ({ id: 0, task, device, lane: "", kind: "", events: 1 });

  it("is the type of the accelerators", () => {
    const host = lane("/job:worker/task:0/device:CPU:0");
    expect(busyLabel([host, lane("/device:GPU:0"), lane("/device:GPU:0")])).toBe("GPU busy");
    expect(busyLabel([host, lane("/device:TPU:0"), lane("/device:TPU:1")])).toBe("busiest TPU");
    expect(busyLabel([lane("GPU:0", "a"), lane("GPU:0", "b")])).toBe("busiest GPU");
    expect(busyLabel([lane("/device:GPU:0"), lane("/device:XLA_GPU:0")])).toBe("busiest device");
    expect(busyLabel([host])).toBe("device busy");
  });
});
