import { describe, expect, it } from "vitest";
import type { Clock } from "../types";
import { makeLane } from "../wire/testing/synthetic";
import {
  clockBand,
  clockLabel,
  clockSentence,
  clockText,
  commonClock,
  shortClockText,
  withClocks,
} from "./clock_bounds";

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

  it("is before the cursor where lanes are shown late, and behind it where they are early", () => {
    expect(clockBand(clock(-100, 3000), 4000, viewport, 100)).toEqual({ from: 10, to: 41 });
  });

  it("is null if too narrow to see or unbounded", () => {
    expect(clockBand(clock(-100, 99), 4000, viewport, 100)).toBeNull();
    expect(clockBand(clock(-100, 100), 4000, viewport, 100)).not.toBeNull();
    expect(clockBand(clock(-100, Infinity), 4000, viewport, 100)).toBeNull();
    expect(clockBand(clock(-Infinity, Infinity), 4000, viewport, 100)).toBeNull();
  });
});

describe("clockText", () => {
  it.each([
    ["±420 µs", -420_000, 410_000],
    ["±1 ns", -1, 1],
    ["±1.5 ms", -1_410_000, 1_000_000],
    ["−22 … +39 ms", -21_207_936, 38_630_185],
    ["−3.3 … +0.18 ms", -3_227_165, 173_469],
    ["−30 ms … +2.1 µs", -30_000_000, 2_050],
    ["0 … +900 µs", 0, 900_000],
    ["−20 … 0 ms", -20_000_000, 0],
    ["+0.1 … +1.9 ms", 100_000, 1_900_000],
    ["at most 21 ms early", -20_217_299, Infinity],
    ["not early", 0, Infinity],
    ["at least 5.1 ms late", 5_190_000, Infinity],
    ["at most 2.4 s late", -Infinity, 2_310_000_000],
    ["at least 5.1 ms early", -Infinity, -5_190_000],
    ["unknown", -Infinity, Infinity],
  ])("returns %s", (text, low, high) => {
    expect(clockText(clock(low, high))).toBe(text);
  });

  it("gives an interval that contains the known one and is hardly wider", () => {
    for (let seed = 1; seed < 2000; seed++) {
      const low = -((seed * 7919) % 10_007) * 10 ** (seed % 5);
      const high = ((seed * 104_729) % 10_009) * 10 ** (seed % 4);
      const text = clockText(clock(low, high));
      const [first, last] = read(text);
      expect(first, text).toBeLessThanOrEqual(low);
      expect(last, text).toBeGreaterThanOrEqual(high);
      expect(last - first, text).toBeLessThanOrEqual((text.startsWith("±") ? 1.35 : 1.11) * (high - low));
    }
  });
});

/** The interval in a text, in ns. */
function read(text: string): number[] {
  const ns: Record<string, number> = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 };
  const last = text.slice(text.lastIndexOf(" ") + 1);
  const ends = text.split(" … ").map((end) => {
    const [number, unit = last] = end.split(" ");
    return Number(number.replace("−", "-").replace("±", "")) * ns[unit];
  });
  return ends.length === 2 ? ends : [-ends[0], ends[0]];
}

it.each([
  ["±3.3 ms", -3_227_165, 173_469],
  ["±3.3 ms", -173_469, 3_227_165],
  ["clock ?", -20_217_299, Infinity],
  ["clock ?", -Infinity, 3],
  ["clock ?", -Infinity, Infinity],
])("the short clock text is %s", (text, low, high) => {
  expect(shortClockText(clock(low, high))).toBe(text);
});

it("the clock label matches the sentence", () => {
  expect(clockLabel(clock(-20_217_299, Infinity))).toBe("clock at most 21 ms early");
  expect(clockLabel(clock(-Infinity, Infinity))).toBe("clock unknown");
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
