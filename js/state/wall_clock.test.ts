import { describe, expect, it } from "vitest";
import { formatWallClock, hasDate } from "./wall_clock";

const MOMENT = 1_772_373_906_030_805_123n;

describe("formatWallClock", () => {
  it.each([
    [1, ".030805123"],
    [10, ".03080512"],
    [5000, ".030805"],
    [1e6, ".030"],
    [1e9, ""],
    [1e12, ""],
  ])("gives the digits that %d ns allow", (resolution, rest) => {
    const text = formatWallClock(MOMENT, resolution);
    expect(text).toMatch(
      new RegExp(`^\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d${rest.replace(".", "\\.")}$`),
    );
    expect(Math.floor(new Date(text.replace(" ", "T")).getTime() / 1000)).toBe(
      Number(MOMENT / 1_000_000_000n),
    );
  });

  it("knows clocks that were never set", () => {
    expect([0n, 86_400_000_000_000n, MOMENT].map(hasDate)).toEqual([false, false, true]);
  });
});
