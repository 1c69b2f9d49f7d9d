import { describe, expect, it } from "vitest";
import { nextOrder, sortRows } from "./sort";

const rows = [
  { name: "conv_10", count: 3 },
  { name: "conv_2", count: null },
  { name: "add", count: 7 },
  { name: "Add", count: 3 },
];
const names = (sorted: typeof rows) => sorted.map(({ name }) => name);

describe("sortRows", () => {
  it("sorts texts by the numbers in them", () => {
    expect(names(sortRows(rows, true, ({ name }) => name)).slice(2)).toEqual(["conv_2", "conv_10"]);
  });

  it("has what is not known last either way, and equal rows as they came", () => {
    const byCount = (up: boolean) => names(sortRows(rows, up, ({ count }) => count));
    expect(byCount(true)).toEqual(["conv_10", "Add", "add", "conv_2"]);
    expect(byCount(false)).toEqual(["add", "conv_10", "Add", "conv_2"]);
  });

  it("has equal rows as they are told to be, whichever way the rest is sorted", () => {
    const byName = (up: boolean) =>
      names(
        sortRows(
          rows,
          up,
          ({ count }) => count,
          (a, b) => (a.name < b.name ? -1 : 1),
        ),
      );
    expect(byName(true)).toEqual(["Add", "conv_10", "add", "conv_2"]);
    expect(byName(false)).toEqual(["add", "Add", "conv_10", "conv_2"]);
  });
});

describe("nextOrder", () => {
  it("begins with the largest figure, with the first text", () => {
    expect(nextOrder(null, "count", false)).toEqual({ column: "count", up: false });
    expect(nextOrder({ column: "count", up: false }, "name", true)).toEqual({ column: "name", up: true });
  });

  it("turns round", () => {
    expect(nextOrder({ column: "count", up: false }, "count", false)).toEqual({ column: "count", up: true });
  });
});
