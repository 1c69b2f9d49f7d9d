import { describe, expect, it } from "vitest";
import { formatCell } from "./column_units";
import { formatBandwidth, formatBytes, formatDuration, formatPercent } from "./units";

describe("formatCell", () => {
  it("writes figures as the timeline does", () => {
    expect(formatCell(1_530_000, "ns")).toBe(formatDuration(1_530_000));
    expect(formatCell(4096, "bytes")).toBe(formatBytes(4096));
    expect(formatCell(1e9, "bytes/s")).toBe(formatBandwidth(1e9));
    expect(formatCell(0.184, "share")).toBe(formatPercent(0.184));
  });

  it("writes times from the first event and step numbers without commas", () => {
    expect(formatCell(2_092_000, "time")).toBe("+2.092 ms");
    expect(formatCell(12_345, "number")).toBe("12345");
    expect([-1, 0].map((step) => formatCell(step, "step"))).toEqual(["outside steps", "0"]);
    expect(formatCell(12_345, "count")).toBe("12,345");
    expect(formatCell(1.5, "ratio")).toBe("1.50");
  });

  it("leaves texts alone, whatever they look like", () => {
    expect(formatCell("<b>7</b>", "name")).toBe("<b>7</b>");
    expect(formatCell("n/a", "ns")).toBe("n/a");
  });

  it("does not write 0 for unknown values", () => {
    expect(formatCell(null, "ns")).toBe("–");
    expect(formatCell(Number.NaN, "bytes")).toBe("–");
  });
});
