import { describe, expect, it } from "vitest";
import { type Window, wantedWindow } from "./next_window";

const bounds = { start: 0, end: 1e9 };
const OUTLINE = 2 ** 20;
const PIXELS = 1000;

function wanted(start: number, end: number, held: Window | null = null): Window | null {
  return wantedWindow({ start, end }, PIXELS, bounds, OUTLINE, held);
}

describe("wantedWindow", () => {
  it("asks for nothing while the outline is as fine as the pixels", () => {
    expect(wanted(-1e7, 1.01e9)).not.toBeNull();
    expect(wantedWindow({ start: 0, end: 1e9 }, 900, bounds, OUTLINE, null)).toBeNull();
    expect(wanted(0, 1.1e9)).toBeNull();
  });

  it("asks for three times the view, in buckets that are powers of two and finer than a pixel", () => {
    expect(wanted(4e8, 4.1e8)).toEqual({ start: 3.9e8, end: 4.2e8, bucket: 4096 });
    expect(wanted(4e8, 4e8 + 20)).toEqual({ start: 4e8 - 20, end: 4e8 + 40, bucket: 1 });
  });

  it("stays inside the bounds", () => {
    expect(wanted(-1e6, 9e6)).toEqual({ start: 0, end: 1.9e7, bucket: 4096 });
    expect(wanted(2e9, 2.1e9)).toBeNull();
  });

  it("asks for whole nanoseconds", () => {
    const part = wanted(100.25, 140.75) as Window;
    expect([part.start, part.end].every(Number.isInteger)).toBe(true);
    expect(part.start).toBeLessThanOrEqual(100.25 - 40.5);
  });

  it("keeps the part while it is fine enough and reaches beyond the view", () => {
    const held = wanted(4e8, 4.1e8);
    expect(wanted(4e8, 4.1e8, held)).toBeNull();
    expect(wanted(4.03e8, 4.13e8, held)).toBeNull();
    expect(wanted(4.02e8, 4.07e8, held)).toBeNull();
  });

  it("asks again shortly before panning reaches the end of the part", () => {
    const held = wanted(4e8, 4.1e8);
    expect(wanted(4.09e8, 4.19e8, held)).toEqual({ start: 3.99e8, end: 4.29e8, bucket: 4096 });
  });

  it("asks again when zooming makes the part too coarse, never below single events", () => {
    const held = wanted(4e8, 4.1e8);
    expect(wanted(4.04e8, 4.06e8, held)?.bucket).toBe(512);
    const single = { start: 4.03e8, end: 4.07e8, bucket: 1 };
    expect(wanted(4.04e8, 4.06e8, single)).toBeNull();
    expect(wanted(4.05e8, 4.05e8 + 3, single)).toBeNull();
  });

  it("keeps the part at the ends of the run", () => {
    const held = wanted(0, 1e7);
    expect(held?.start).toBe(0);
    expect(wanted(-2e5, 1e7, held)).toBeNull();
  });
});
