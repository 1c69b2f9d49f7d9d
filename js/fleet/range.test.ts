import { expect, test } from "vitest";
import { between, showing, zoomed } from "./range";

test("dragging in either direction shows the steps touched", () => {
  expect(between(30.2, 10.9, 100)).toEqual({ from: 10, to: 31 });
  expect(between(10.9, 30.2, 100)).toEqual({ from: 10, to: 31 });
});

test("no range is shorter than a few steps or outside", () => {
  expect(between(99.5, 99.6, 100)).toEqual({ from: 96, to: 100 });
  expect(between(0.1, 0.2, 100)).toEqual({ from: 0, to: 4 });
  expect(between(0.1, 0.2, 2)).toEqual({ from: 0, to: 2 });
});

test("zooming keeps the middle column if possible", () => {
  expect(zoomed({ from: 0, to: 100 }, 50, 0.5, 100)).toEqual({ from: 26, to: 76 });
  expect(zoomed({ from: 26, to: 76 }, 50, 4, 100)).toEqual({ from: 0, to: 100 });
  expect(zoomed({ from: 0, to: 100 }, 99, 0.5, 100)).toEqual({ from: 50, to: 100 });
});

test("a column that is not in view is moved to", () => {
  const range = { from: 20, to: 30 };
  expect(showing(range, 25, 100)).toBe(range);
  expect(showing(range, 30, 100)).toEqual({ from: 21, to: 31 });
  expect(showing(range, 3, 100)).toEqual({ from: 3, to: 13 });
});
