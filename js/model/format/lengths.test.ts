import { describe, expect, it } from "vitest";
import { pixelsOf } from "./lengths";

describe("pixelsOf", () => {
  it.each([
    ["600", 600],
    ["600 px", 600],
    [" 16 cm ", 604.724],
    ["6.3 in", 604.8],
    ["455 pt", 606.667],
    ["160 mm", 604.724],
    ["20000", 20_000],
    ["16,5 CM", 623.622],
  ])("reads %j", (text, pixels) => {
    expect(pixelsOf(text)).toBeCloseTo(pixels, 3);
  });

  it("takes no length as none", () => expect(pixelsOf(" ")).toBeNull());

  it.each(["16 em", "cm", "-16 cm", "1e3", "20001", "2.5 cm", "16 cm wide"])("refuses %j", (text) => {
    expect(() => pixelsOf(text)).toThrow(JSON.stringify(text));
  });
});
