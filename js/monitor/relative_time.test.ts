import { describe, expect, it } from "vitest";
import { ago, Clock, fullMoment, moment } from "./relative_time";

const S = 1000;
const HOUR = 3600 * S;

describe("ago", () => {
  it.each([
    [0, "now"],
    [999, "now"],
    [S, "1 s ago"],
    [59_999, "59 s ago"],
    [60 * S, "1 min ago"],
    [HOUR - 1, "59 min ago"],
    [HOUR, "1 h ago"],
    [47 * HOUR, "47 h ago"],
    [48 * HOUR, "2 d ago"],
    [-5 * S, "now"],
  ])("%d ms is %s", (elapsed, text) => {
    expect(ago(1e12, 1e12 + elapsed)).toBe(text);
  });
});

describe("a time", () => {
  const at = new Date(2026, 10, 20, 9, 3, 4).getTime();

  it("of today has seconds and no day", () => {
    expect(moment(at, new Date(2026, 10, 20, 23, 59).getTime())).toBe("09:03:04");
  });

  it("of another day has that day", () => {
    expect(moment(at, new Date(2026, 10, 21, 0, 1).getTime())).toBe("2026-11-20 09:03");
    expect(fullMoment(at)).toBe("2026-11-20 09:03:04");
  });
});

describe("the other machine's clock", () => {
  it("is the browser's until it is known", () => {
    expect(new Clock().now(5000)).toBe(5000);
  });

  it("is not behind because of an old state", () => {
    const clock = new Clock();
    clock.seen(1000, false, 9000);
    expect(clock.now(9500)).toBe(9500);
  });

  it("is ahead where even an old state is", () => {
    const clock = new Clock();
    clock.seen(12_000, false, 9000);
    expect(clock.now(9500)).toBe(12_500);
  });

  it("is that of a new state, whichever came before", () => {
    const clock = new Clock();
    clock.seen(12_000, false, 9000);
    clock.seen(8000, true, 10_000);
    clock.seen(1000, false, 11_000);
    expect(clock.now(11_000)).toBe(9000);
  });
});
