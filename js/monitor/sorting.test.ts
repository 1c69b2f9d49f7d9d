import { describe, expect, it } from "vitest";
import type { Order } from "../ui/sort";
import { filterSignatures } from "./signature_table";
import * as sorting from "./sorting";
import { signature, trace } from "./testing/fixtures";

const numbers = (rows: readonly { signature: number }[]) => rows.map((row) => row.signature);

describe("signatures", () => {
  const rows = [
    signature({ signature: 1, label: "init", total_ns: 5, mean_ns: null }),
    signature({ signature: 2, label: "train 10", total_ns: 900, mean_ns: 3 }),
    signature({ signature: 3, label: "train 9", total_ns: 900, mean_ns: 7, feeds: ["images:0"] }),
  ];

  it("are sorted by a figure, equal ones by their number", () => {
    expect(numbers(sorting.sortSignatures(rows, { column: "total_ns", up: false }))).toEqual([2, 3, 1]);
    expect(numbers(sorting.sortSignatures(rows, { column: "total_ns", up: true }))).toEqual([1, 2, 3]);
  });

  it("have the unknown last", () => {
    expect(numbers(sorting.sortSignatures(rows, { column: "mean_ns", up: false }))).toEqual([3, 2, 1]);
    expect(numbers(sorting.sortSignatures(rows, { column: "mean_ns", up: true }))).toEqual([2, 3, 1]);
  });

  it("are sorted by label as people count", () => {
    expect(numbers(sorting.sortSignatures(rows, { column: "label", up: true }))).toEqual([1, 3, 2]);
  });

  it("are found by all words, in labels and names", () => {
    expect(numbers(filterSignatures(rows, "TRAIN"))).toEqual([2, 3]);
    expect(numbers(filterSignatures(rows, " train images "))).toEqual([3]);
    expect(numbers(filterSignatures(rows, "nothing"))).toEqual([]);
    expect(filterSignatures(rows, "  ")).toHaveLength(3);
  });
});

describe("traces", () => {
  const rows = [
    trace({ trace: 9, duration_ns: 40, untraced_ns: 10, untraced_runs: 64 }),
    trace({ trace: 8, duration_ns: 40, untraced_ns: 5, tracing_ns: 3 }),
    trace({ trace: 7, duration_ns: 50, tracing_ns: 7 }),
  ];
  const order = (sort: Order<sorting.TraceColumn>) => sorting.sortTraces(rows, sort).map((row) => row.trace);

  it("are sorted by how many times the median of untraced runs they took, those without last", () => {
    expect(order({ column: "ratio", up: false })).toEqual([8, 9, 7]);
    expect(order({ column: "ratio", up: true })).toEqual([9, 8, 7]);
  });

  it("are sorted by the time of the trace, unknown ones last", () => {
    expect(order({ column: "tracing_ns", up: false })).toEqual([7, 8, 9]);
  });

  it("are sorted, of equal ones the newest first", () => {
    expect(order({ column: "duration_ns", up: true })).toEqual([9, 8, 7]);
    expect(order({ column: "duration_ns", up: false })).toEqual([7, 9, 8]);
  });
});
