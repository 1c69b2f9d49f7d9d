import { describe, expect, it } from "vitest";
import * as units from "./units";

describe("formatTime", () => {
  it.each([
    [30_805_123, 1000, "+30.805 ms"],
    [30_805_123, 1, "+30.805123 ms"],
    [30_805_123, 5000, "+30.805 ms"],
    [0, 1000, "+0 ns"],
    [-1500, 10, "\u22121.50 µs"],
    [1_230_000_499, 100, "+1.2300005 s"],
    [999_999_999, 1e6, "+1,000 ms"],
    [9_007_199_254_740_991, 1, "+9,007,199.254740991 s"],
    [12.5, 0.1, "+12.5 ns"],
  ])("%d ns to %d ns is %s", (ns, resolution, text) => {
    expect(units.formatTime(ns, resolution)).toBe(text);
  });
});

describe("formatCount", () => {
  it("prints every digit", () => {
    expect([-12_345, 1234.5678, Number.POSITIVE_INFINITY].map(units.formatCount)).toEqual([
      "\u221212,345",
      "1,234.5678",
      "Infinity",
    ]);
  });
});

describe("unbroken", () => {
  it("keeps a figure with its unit, and nothing else", () => {
    const text = "For 32.4 % its 2 GPUs took 1.5 ms, 2 m 03 s, 24 MiB at 1.30 GB/s: 1.2 × 3 steps";
    const kept = units.unbroken(text);
    expect(kept.split(" ")).toEqual(
      ["For", "32.4_%", "its", "2", "GPUs", "took", "1.5_ms,", "2_m", "03_s,", "24_MiB", "at", "1.30_GB/s:"]
        .concat("1.2_×", "3", "steps")
        .map((part) => part.replaceAll("_", "\u00a0")),
    );
  });
});

describe("formatNumber", () => {
  it("uses the singular for one", () => {
    expect([0, 1, 2, 1_234_567].map((count) => units.formatNumber(count, "event"))).toEqual([
      "0 events",
      "1 event",
      "2 events",
      "1,234,567 events",
    ]);
  });
});
