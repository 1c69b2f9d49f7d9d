import { describe, expect, it } from "vitest";
import * as units from "./units";

/** Thin spaces as plain ones, so that the expectations can be read. */
function plain(text: string): string {
  return text.replaceAll("\u2009", " ");
}

describe("formatDuration", () => {
  it.each([
    [0, "0 ns"],
    [1, "1 ns"],
    [845, "845 ns"],
    [999, "999 ns"],
    [12.345, "12.3 ns"],
    [1000, "1.00 µs"],
    [12_345, "12.3 µs"],
    [999_499, "999 µs"],
    [999_500, "1.00 ms"],
    [4_560_000, "4.56 ms"],
    [9_996_000, "10.0 ms"],
    [99_960_000, "100 ms"],
    [1_234_000_000, "1.23 s"],
    [59_940_000_000, "59.9 s"],
    [59_960_000_000, "1 m 00 s"],
    [123_000_000_000, "2 m 03 s"],
    [3_723_000_000_000, "1 h 02 m"],
    [-1500, "\u22121.50 µs"],
    [Number.NaN, "–"],
  ])("%d ns is %s", (ns, text) => {
    expect(units.formatDuration(ns)).toBe(text);
  });
});

describe("formatTime", () => {
  it.each([
    [30_805_123, 1000, "+30.805 ms"],
    [30_805_123, 1, "+30.805 123 ms"],
    [30_805_123, 5000, "+30.805 ms"],
    [0, 1000, "+0 ns"],
    [-1500, 10, "\u22121.50 µs"],
    [1_230_000_499, 100, "+1.230 000 5 s"],
    [999_999_999, 1e6, "+1 000 ms"],
    [9_007_199_254_740_991, 1, "+9 007 199.254 740 991 s"],
    [12.5, 0.1, "+12.5 ns"],
  ])("%d ns to %d ns is %s", (ns, resolution, text) => {
    expect(plain(units.formatTime(ns, resolution))).toBe(text);
  });
});

describe("sizes, rates and counts", () => {
  it.each([
    [0, "0 B"],
    [845, "845 B"],
    [1023, "1023 B"],
    [1024, "1.00 KiB"],
    [4_194_304, "4.00 MiB"],
    [1_048_575, "1 024 KiB"],
    [1_610_612_736, "1.50 GiB"],
    [2 ** 60, "1 024 PiB"],
  ])("%d bytes are %s", (bytes, text) => {
    expect(plain(units.formatBytes(bytes))).toBe(text);
  });

  it("prints rates in bytes, as charts do, counts short, parts in percent", () => {
    expect(units.formatBandwidth(1.3e9)).toBe("1.30 GB/s");
    expect(units.formatBandwidth(11.625e6)).toBe("11.6 MB/s");
    expect(units.formatBandwidth(Number.NaN)).toBe("–");
    expect([149, 99_999, 123_456, 1_234_567].map((n) => plain(units.formatCount(n)))).toEqual([
      "149",
      "99 999",
      "123 k",
      "1.23 M",
    ]);
    expect([0, 0.0004, 0.184, 0.9999, 1].map(units.formatPercent)).toEqual([
      "0 %",
      "<0.1 %",
      "18.4 %",
      "100 %",
      "100 %",
    ]);
  });

  it("prints every digit of an exact number", () => {
    expect([0, 999, 4_194_304, -12_345, 1234.5678].map((n) => plain(units.formatExact(n)))).toEqual([
      "0",
      "999",
      "4 194 304",
      "\u221212 345",
      "1 234.567 8",
    ]);
  });
});

describe("formatNumber", () => {
  it("says one of one", () => {
    expect([0, 1, 2, 1_234_567].map((count) => units.formatNumber(count, "event"))).toEqual([
      "0 events",
      "1 event",
      "2 events",
      `${units.formatCount(1_234_567)} events`,
    ]);
  });
});
