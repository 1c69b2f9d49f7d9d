import { describe, expect, it } from "vitest";
import type { Clock } from "../types";
import { makeLane } from "../wire/testing/synthetic";
import { clockBand, clockSentence, commonClock, withClocks } from "./clock_bounds";

const [WORKER_0, WORKER_1] = [0, 1].map((task) => `/job:worker/replica:0/task:${task}`);
const PS = "/job:ps/replica:0/task:0";
const lanes = [WORKER_0, WORKER_1, WORKER_1, PS].map((task, id) => ({
  ...makeLane("ops", `${task}/device:CPU:${id}`),
  id,
}));

const clock = (low: number, high: number): Clock => ({ task: WORKER_1, low, high, against: WORKER_0 });

describe("clocks of lanes", () => {
  it("are those of their tasks, and the first task's is the one compared with", () => {
    const known = withClocks(lanes, [
      { task: WORKER_0, low: 0, high: 0 },
      { task: WORKER_1, low: -5, high: null },
      { task: PS, low: 0, high: 0 },
    ]);
    expect(known.map((lane) => lane.clock)).toEqual([
      undefined,
      clock(-5, Infinity),
      clock(-5, Infinity),
      undefined,
    ]);
    expect(commonClock(known)).toBeNull();
    expect(commonClock(known.slice(1, 3))).toEqual(clock(-5, Infinity));
    expect(commonClock(known.slice(1))).toBeNull();
    expect(commonClock([])).toBeNull();
  });

  it("are absent without any bounds", () => {
    expect(withClocks(lanes, [])).toBe(lanes);
  });
});

describe("clockBand", () => {
  const viewport = { start: 0, end: 10_000 };

  it("is before the cursor if lanes are late, and behind it if they are early", () => {
    expect(clockBand(clock(-100, 3000), 4000, viewport, 100)).toEqual({ from: 10, to: 41 });
  });

  it("is null if too narrow to see or unbounded", () => {
    expect(clockBand(clock(-100, 99), 4000, viewport, 100)).toBeNull();
    expect(clockBand(clock(-100, 100), 4000, viewport, 100)).not.toBeNull();
    expect(clockBand(clock(-100, Infinity), 4000, viewport, 100)).toBeNull();
    expect(clockBand(clock(-Infinity, Infinity), 4000, viewport, 100)).toBeNull();
  });
});

describe("clockSentence", () => {
  it.each([
    ["up to 250 ns early or up to 41 µs late relative to worker 0", -250, 40_500],
    ["worker 0 (the band at the cursor).", -250, 40_500],
    ["Times of these lanes may be up to 41 µs late relative to", 0, 40_500],
    ["Relative to worker 0, times of these lanes are at most 21 ms early. How late", -20_217_299, Infinity],
    ["times of these lanes are at most 3 ns late. How early they may be is unknown.", -Infinity, 3],
    ["does not bound the clock difference between worker 1 and worker 0.", -Infinity, Infinity],
  ])("contains: %s", (part, low, high) => {
    expect(clockSentence(clock(low, high))).toContain(part);
  });
});
