import { describe, expect, it } from "vitest";
import { binText } from "./table";

describe("binText", () => {
  const bins = { edges: [1000, 2000, 2000], counts: [3, 1], events: [[4, 2], [9]] };

  it("mentions that fewer events are listed than counted", () => {
    expect(binText(bins, 0)).toBe("1.00 µs to 2.00 µs: 3 events, selects the 2 longest");
  });

  it("shows a single length once", () => {
    expect(binText(bins, 1)).toBe("2.00 µs: 1 event");
  });
});
