import { describe, expect, it } from "vitest";
import { nextOrder, presentOrder, sortRows } from "./sort";

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

  it("sorts unknown values last either way, and keeps the order of equal rows", () => {
    const byCount = (up: boolean) => names(sortRows(rows, up, ({ count }) => count));
    expect(byCount(true)).toEqual(["conv_10", "Add", "add", "conv_2"]);
    expect(byCount(false)).toEqual(["add", "conv_10", "Add", "conv_2"]);
  });

  it("orders equal rows by the tie-break, in either direction", () => {
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
  it("starts with the largest figure or the first text", () => {
    expect(nextOrder(null, "count", false)).toEqual({ column: "count", up: false });
    expect(nextOrder({ column: "count", up: false }, "name", true)).toEqual({ column: "name", up: true });
  });

  it("reverses on a second click", () => {
    expect(nextOrder({ column: "count", up: false }, "count", false)).toEqual({ column: "count", up: true });
  });
});

describe("presentOrder", () => {
  const text = { isText: true, value: (row: (string | number)[]) => row[0] };
  const figure = (at: number) => ({ isText: false, value: (row: (string | number)[]) => row[at] });

  it("is that of the first falling figure, else of the first rising column", () => {
    const falling = [
      ["b", 1, 9],
      ["a", 1, 7],
      ["c", 2, 7],
    ];
    expect(presentOrder(falling, [text, figure(1), figure(2)])).toEqual({ column: 2, up: false });
    const steps = [
      ["b", 0, 3],
      ["a", 1, 8],
      ["c", 2, 5],
    ];
    expect(presentOrder(steps, [text, figure(1), figure(2)])).toEqual({ column: 1, up: true });
    expect(presentOrder([["a"], ["b"], ["c"]], [text])).toEqual({ column: 0, up: true });
  });

  it("is unknown where no column explains it, and with nothing to order", () => {
    expect(
      presentOrder(
        [
          ["a", 2],
          ["c", 9],
          ["b", 3],
        ],
        [text, figure(1)],
      ),
    ).toBeNull();
    expect(presentOrder([["a", 2]], [text, figure(1)])).toBeNull();
    expect(presentOrder([["a"], ["b"]], [text])).toBeNull();
    expect(presentOrder([], [text])).toBeNull();
  });
});
