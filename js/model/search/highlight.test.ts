import { describe, expect, it } from "vitest";
import { makeDrawn } from "../wire/testing/synthetic";
import { highlightMask } from "./search";

const drawn = makeDrawn([
  { start: 0, name: "tower/dense/MatMul", op: "MatMul" },
  { start: 1, name: "tower/dense_1/MatMul", op: "MatMul" },
  { start: 2, name: "tower/dense", op: "Identity" },
  { start: 3, name: "MatMul", op: "NoOp" },
]);

describe("highlightMask", () => {
  it("highlights an op type, a node, and all of a scope", () => {
    expect([...(highlightMask(drawn, "MatMul") ?? [])]).toEqual([1, 1, 0, 1]);
    expect([...(highlightMask(drawn, "tower/dense_1/MatMul") ?? [])]).toEqual([0, 1, 0, 0]);
    expect([...(highlightMask(drawn, "tower/dense") ?? [])]).toEqual([1, 0, 1, 0]);
  });

  it("is null if the name is unknown", () => {
    expect(highlightMask(drawn, "Conv2D")).toBeNull();
    expect(highlightMask(drawn, "tower/den")).toBeNull();
  });
});
