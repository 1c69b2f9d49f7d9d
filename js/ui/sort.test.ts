import { describe, expect, it } from "vitest";
import { nextOrder, ordered } from "./sort";

const rows = [
  ["conv_10", 3],
  ["conv_2", null],
  ["add", 7],
  ["Add", 3],
];

const names = (order: Parameters<typeof ordered>[1]) => ordered(rows, order).map((place) => rows[place][0]);

describe("ordered", () => {
  it("leaves rows as they came", () => {
    expect(ordered(rows, null)).toEqual([0, 1, 2, 3]);
  });

  it("sorts texts by the numbers in them", () => {
    expect(names({ column: 0, up: true }).slice(2)).toEqual(["conv_2", "conv_10"]);
  });

  it("has what is not known last either way, and equal rows as they came", () => {
    expect(names({ column: 1, up: true })).toEqual(["conv_10", "Add", "add", "conv_2"]);
    expect(names({ column: 1, up: false })).toEqual(["add", "conv_10", "Add", "conv_2"]);
  });
});

describe("nextOrder", () => {
  it("begins with the largest figure, with the first text", () => {
    expect(nextOrder(null, 1, false)).toEqual({ column: 1, up: false });
    expect(nextOrder({ column: 1, up: false }, 0, true)).toEqual({ column: 0, up: true });
  });

  it("turns round", () => {
    expect(nextOrder({ column: 1, up: false }, 1, false)).toEqual({ column: 1, up: true });
  });
});
