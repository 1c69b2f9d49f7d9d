import { describe, expect, it } from "vitest";
import { isolated, withoutControls } from "./bidi";

const SHALOM = "\u05e9\u05dc\u05d5\u05dd";

describe("a name within a sentence", () => {
  it("keeps left-to-right text unchanged", () => {
    expect(isolated("gradients/MatMul_\u03b1")).toBe("gradients/MatMul_\u03b1");
  });

  it("isolates right-to-left text", () => {
    expect(isolated(SHALOM)).toBe(`\u2068${SHALOM}\u2069`);
  });

  it("cannot turn the rest, or end being apart", () => {
    expect(isolated("a\u202egpj.exe")).toBe("\u2068agpj.exe\u2069");
    expect(isolated("a\u2069\u202eb\u2067")).toBe("\u2068ab\u2069");
  });
});

it("keeps all letters that are drawn", () => {
  expect(withoutControls(`\u202e${SHALOM}\u202c x\u200f`)).toBe(`${SHALOM} x`);
});
