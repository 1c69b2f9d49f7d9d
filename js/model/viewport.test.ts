import { describe, expect, it } from "vitest";
import { clampViewport, fit as fitTo, History, pan, timeAt, type Viewport, xAt, zoomAt } from "./viewport";
import { randomNumbers } from "./wire/testing/synthetic";

const bounds: Viewport = { start: 0, end: 1_000_000 };

function widthOf(v: Viewport): number {
  return v.end - v.start;
}

describe("zoomAt", () => {
  it("keeps the time under the pointer", () => {
    const v = zoomAt({ start: 400_000, end: 500_000 }, 4, 425_000, bounds);
    expect(v).toEqual({ start: 418_750, end: 443_750 });
    expect(zoomAt(v, 0.25, 425_000, bounds)).toEqual({ start: 400_000, end: 500_000 });
  });

  it("goes down to 10 ns and no further, and out to the bounds with 1 % at each side", () => {
    expect(zoomAt({ start: 500, end: 520 }, 1e9, 510, bounds)).toEqual({ start: 505, end: 515 });
    expect(zoomAt({ start: 500, end: 520 }, 1e-9, 510, bounds)).toEqual({ start: -10_000, end: 1_010_000 });
  });
});

describe("any sequence of moves", () => {
  it.each([
    [1, bounds],
    [2, { start: 2 ** 53 - 2_000_000, end: 2 ** 53 - 1_000_000 }],
    [3, { start: 500, end: 500 }],
    [4, { start: 7, end: 8 }],
  ])("stays inside the bounds and wide enough (seed %i)", (seed, limits) => {
    const random = randomNumbers(seed);
    const gutter = Math.max(widthOf(limits) * 0.01, 5);
    let v = fitTo(limits, limits, 0.01);
    for (let n = 0; n < 500; n++) {
      const at = timeAt(v, random() * 1000, 1000);
      if (random() < 0.5) v = zoomAt(v, 4 ** (random() * 2 - 0.9), at, limits);
      else v = pan(v, (random() - 0.5) * 3 * widthOf(v), limits);
      // At 2^53 ns float64 itself counts in whole ns.
      expect(v.start).toBeGreaterThanOrEqual(limits.start - gutter - 2);
      expect(v.end).toBeLessThanOrEqual(limits.end + gutter + 2);
      expect(widthOf(v)).toBeGreaterThanOrEqual(10 - 2);
    }
  });
});

describe("pan, fit and clampViewport", () => {
  it("keep the width at the edges", () => {
    expect(pan({ start: 100, end: 1100 }, -1e9, bounds)).toEqual({ start: -10_000, end: -9000 });
    expect(pan({ start: 100, end: 1100 }, 1e9, bounds)).toEqual({ start: 1_009_000, end: 1_010_000 });
    expect(clampViewport({ start: -1e12, end: 1e12 }, bounds)).toEqual({ start: -10_000, end: 1_010_000 });
  });

  it("leave a margin around the fitted range, and widen an instant around its middle", () => {
    expect(fitTo({ start: 1000, end: 2000 }, bounds, 0.1)).toEqual({ start: 900, end: 2100 });
    expect(fitTo({ start: 1000, end: 1000 }, bounds, 0.1)).toEqual({ start: 995, end: 1005 });
  });
});

describe("timeAt and xAt", () => {
  it("are each other's inverse", () => {
    const v = { start: 12_345, end: 12_385 };
    expect(timeAt(v, 0, 800)).toBe(12_345);
    expect(timeAt(v, 800, 800)).toBe(12_385);
    for (const x of [-50, 0, 13.25, 799, 1200]) expect(xAt(v, timeAt(v, x, 800), 800)).toBeCloseTo(x, 8);
  });
});

describe("History", () => {
  const [a, b, c] = [0, 1, 2].map((start) => ({ start, end: start + 10 }));

  it("goes back and forth between windows left and the present one", () => {
    const history = new History<Viewport>();
    history.push(a, "wheel 1");
    history.push(b, "wheel 2");
    expect(history.back(c)).toEqual(b);
    expect(history.back(b)).toEqual(a);
    expect(history.back(a)).toBeNull();
    expect(history.forward(a)).toEqual(b);
    expect(history.forward(b)).toEqual(c);
    expect(history.forward(c)).toBeNull();
  });

  it("keeps the first window of a gesture only", () => {
    const history = new History<Viewport>();
    for (const v of [a, b, b, b]) history.push(v, "wheel 1");
    expect(history.back(c)).toEqual(a);
    expect(history.back(a)).toBeNull();
  });

  it("forgets undone views when the user moves on, and the oldest after 200", () => {
    const history = new History<Viewport>();
    history.push(a, "drag 1");
    history.back(b);
    history.push(a, "drag 1");
    expect(history.forward(c)).toBeNull();
    for (let n = 0; n < 300; n++) history.push({ start: n, end: n + 10 }, `drag ${n + 2}`);
    let last: Viewport | null = null;
    for (let v = history.back(c); v !== null; v = history.back(v)) last = v;
    expect(last).toEqual({ start: 100, end: 110 });
  });
});
