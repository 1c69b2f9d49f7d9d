import { describe, expect, it } from "vitest";
import { makeDrawn } from "../wire/testing/synthetic";
import { lightMask } from "./highlight";

const drawn = makeDrawn([
  { start: 0, name: "tower/dense/MatMul", op: "MatMul" },
  { start: 1, name: "tower/dense_1/MatMul", op: "MatMul" },
  { start: 2, name: "tower/dense", op: "Identity" },
  { start: 3, name: "MatMul", op: "NoOp" },
]);

describe("lightMask", () => {
  it("lights an op type, a node, and all of a scope", () => {
    expect([...(lightMask(drawn, "MatMul") ?? [])]).toEqual([1, 1, 0, 1]);
    expect([...(lightMask(drawn, "tower/dense_1/MatMul") ?? [])]).toEqual([0, 1, 0, 0]);
    expect([...(lightMask(drawn, "tower/dense") ?? [])]).toEqual([1, 0, 1, 0]);
  });

  it("is nothing where nothing is called so", () => {
    expect(lightMask(drawn, "Conv2D")).toBeNull();
    expect(lightMask(drawn, "tower/den")).toBeNull();
  });
});
