import { describe, expect, it } from "vitest";
import { makeDrawn } from "../wire/testing/synthetic";
import { counterpart } from "./counterpart";

const drawn = makeDrawn([
  { start: 0, duration: 5, name: "a", op: "MatMul", category: 0 },
  { start: 10, duration: 5, name: "a", op: "MatMul", category: 1 },
  { start: 20, duration: 5, name: "b", op: "MatMul", category: 1 },
  { start: 40, duration: 5, name: "a", op: "MatMul", category: 1 },
  { start: 50, duration: 5, name: "a", op: "Add", category: 1 },
]);
const kernel = { name: "a", op: "MatMul", kind: "kernel" };

describe("the counterpart of an event", () => {
  it("is of the same node, op type and category, and the nearest in time", () => {
    expect(counterpart(drawn, { ...kernel, start: 24 })).toBe(1);
    expect(counterpart(drawn, { ...kernel, start: 26 })).toBe(3);
    expect(counterpart(drawn, { ...kernel, kind: "op", start: 99 })).toBe(0);
    expect(counterpart(drawn, { ...kernel, name: "b", start: 0 })).toBe(2);
  });

  it("is the first of two that are as near", () => {
    expect(counterpart(drawn, { ...kernel, start: 25 })).toBe(1);
  });

  it("is null if no event matches", () => {
    expect(counterpart(drawn, { ...kernel, name: "c", start: 0 })).toBeNull();
    expect(counterpart(drawn, { ...kernel, op: "Relu", start: 0 })).toBeNull();
    expect(counterpart(drawn, { ...kernel, name: "b", kind: "op", start: 0 })).toBeNull();
  });
});
