import { describe, expect, test } from "vitest";
import { contrast, parseColour } from "../paint/colour";
import { cellText, type Grid, valueText } from "./grid";
import { largestCells, span } from "./pixels";
import { colourOf, colours, marksOf, placeOf, scaleOf } from "./scale";
import { sortedValues, spreadOf, spreadOfSteps, spreadOfTasks, typicalOf } from "./spread";

const NAN = Number.NaN;

function gridOf(tasks: number, steps: number, runs = ["a"]): Grid {
  return {
    title: "",
    tasks: Array.from({ length: tasks }, (_, task) => `worker ${task}`),
    runs,
    run: Uint32Array.from({ length: steps }, (_, step) => (step < steps / 2 ? 0 : runs.length - 1)),
    step: Uint32Array.from({ length: steps }, (_, step) => step + 10),
    group: new Uint32Array(steps).fill(1),
    metrics: [],
  };
}

describe("pixels", () => {
  test("every step falls on a pixel, and every pixel has one", () => {
    for (const [steps, width] of [
      [1, 1],
      [7, 3],
      [3, 7],
      [1000, 333],
      [500, 500],
    ]) {
      const seen = new Set<number>();
      for (let x = 0; x < width; x++) {
        const [first, end] = span(x, width, { from: 0, to: steps });
        expect(end).toBeGreaterThan(first);
        for (let step = first; step < end; step++) seen.add(step);
      }
      expect([...seen].sort((a, b) => a - b)).toEqual([...Array(steps).keys()]);
    }
  });

  test("the largest of a thousand steps is seen on a hundred pixels and four lines", () => {
    const values = new Float64Array(64 * 1000).fill(5);
    values[37 * 1000 + 777] = 6;
    const found = largestCells(values, 64, 1000, { from: 0, to: 1000 }, 4, 100);
    expect([...found].filter((cell) => values[cell] === 6)).toEqual([37 * 1000 + 777]);
    expect(found.indexOf(37 * 1000 + 777)).toBe(2 * 100 + 77);
  });

  test("a pixel without a value shows no cell, and NaN hides none", () => {
    const values = Float64Array.of(NAN, NAN, NAN, 3);
    expect([...largestCells(values, 2, 2, { from: 0, to: 2 }, 2, 1)]).toEqual([-1, 3]);
    expect([...largestCells(values, 2, 2, { from: 0, to: 1 }, 1, 2)]).toEqual([-1, -1]);
  });
});

describe("spread", () => {
  test("quantiles lie between values, and NaN does not count", () => {
    const spread = spreadOf(Float64Array.of(4, NAN, 1, 3, 2), 0, 5, 1);
    expect(spread).toMatchObject({ count: 4, quarter: 1.75, median: 2.5, most: 4, largest: 0 });
    expect(spreadOf(Float64Array.of(NAN), 0, 1, 1)).toMatchObject({ count: 0, median: NAN, largest: -1 });
  });

  test("over steps and over tasks", () => {
    const values = Float64Array.of(1, 2, 9, 3, 4, NAN);
    const grid = gridOf(2, 3);
    expect(spreadOfTasks(grid, values).map(({ median }) => median)).toEqual([2, 3.5]);
    expect(spreadOfSteps(grid, values).map(({ median, largest }) => [median, largest])).toEqual([
      [2, 1],
      [3, 1],
      [9, 0],
    ]);
  });
});

describe("scale", () => {
  test("few large values do not take the colours from the others", () => {
    const values = Float64Array.from({ length: 1000 }, (_, index) => (index < 5 ? 1000 : 50 + (index % 10)));
    const scale = scaleOf(sortedValues(values));
    expect(scale).toEqual({ least: 50, low: 50, high: 59, most: 1000 });
    expect(placeOf(scale!, 59)).toBeGreaterThan(0.7);
    expect(placeOf(scale!, 1000)).toBe(1);
    expect(marksOf(scale!).map(({ value }) => value)).toEqual([50, 59, 1000]);
  });

  test("evenly spread values have all colours, equal ones have one", () => {
    const even = scaleOf(Float64Array.from({ length: 101 }, (_, index) => index));
    expect(marksOf(even!).map(({ place }) => place)).toEqual([0, 1]);
    expect([even!.least, even!.low]).toEqual([0, 2]);
    const same = scaleOf(sortedValues(Float64Array.of(7, NAN, 7)));
    expect([colourOf(same!, 7), marksOf(same!).length]).toEqual([0, 1]);
    expect(scaleOf(sortedValues(Float64Array.of(NAN)))).toBeNull();
  });

  test.each(["light", "dark"] as const)("contrast with the ground only rises, in the %s theme", (theme) => {
    const ground = parseColour(theme === "light" ? "#ffffff" : "#16181d");
    const found = colours(theme).map((css) => contrast(parseColour(css), ground));
    expect(found.every((value, index) => index === 0 || value > found[index - 1] - 1e-3)).toBe(true);
    expect(found[0]).toBeGreaterThan(1.05);
    expect(found[255]).toBeGreaterThan(10);
  });
});

test("steps are compared with those of their group, and those without one are not", () => {
  const grid = { ...gridOf(2, 6), group: Uint32Array.of(1, 1, 1, 0, 2, 2) };
  const values = Float64Array.of(7, 1, 3, 50, 60, 70, 5, 9, 2, NAN, NAN, 80);
  expect([...typicalOf(grid, spreadOfSteps(grid, values))]).toEqual([7, 7, 7, NAN, NAN, NAN]);
});

describe("texts", () => {
  test("a cell names its run if there are several", () => {
    expect(cellText(gridOf(2, 4), { task: 1, column: 3 })).toBe("step 13 · worker 1");
    expect(cellText(gridOf(2, 4, ["mon", "tue"]), { task: 0, column: 3 })).toBe("step 13 of tue · worker 0");
  });

  test("a value is related to the median", () => {
    const metric = { name: "duration_ns", label: "Step time", unit: "ns", definition: "" } as const;
    expect(valueText(metric, 3e6, 2e6).replaceAll("\u00a0", " ")).toBe("3.00 ms · 1.50 × median");
    expect(valueText(metric, NAN, 2e6)).toBe("not recorded");
    expect(valueText(metric, 0, 0)).toBe("0\u00a0ns");
  });
});
