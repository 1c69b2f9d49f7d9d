import { describe, expect, it } from "vitest";
import { nameIn, pauseAfter } from "./http";

describe("the name of a file that is sent", () => {
  it.each([
    [`attachment; filename="run.html"; filename*=UTF-8''l%C3%A4uft.html`, "läuft.html"],
    [`attachment; filename="run.html"; filename*=UTF-8''%E0%A4%A`, "run.html"],
    [`attachment; filename="run.html"`, "run.html"],
    ["attachment", null],
  ])("in %s is %s", (header, name) => {
    expect(nameIn(header)).toBe(name);
  });
});

describe("who is not answered", () => {
  it("asks less and less often, but never gives up", () => {
    expect([0, 1, 2, 3, 4, 50].map(pauseAfter)).toEqual([1000, 2000, 4000, 8000, 10_000, 10_000]);
  });
});
