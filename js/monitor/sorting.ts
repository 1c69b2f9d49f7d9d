/** Sorts signatures and traces, also by values that are not in their rows. */

import type { MonitorState, SignatureRow, TraceRow } from "../model/wire/schema";
import { type Order, sortRows } from "../ui/sort";
import { ratio } from "./tracing_cost";

export type SignatureColumn =
  | "label"
  | "kind"
  | "runs"
  | "failed"
  | "mean_ns"
  | "total_ns"
  | "longest_ns"
  | "last_ms"
  | "traces";

export type TraceColumn =
  | "run"
  | "label"
  | "start_ms"
  | "duration_ns"
  | "ratio"
  | "tracing_ns"
  | "bytes"
  | "process";

export function sortSignatures(
  rows: readonly SignatureRow[],
  { column, up }: Order<SignatureColumn>,
): SignatureRow[] {
  // Equal ones by their number, so that they do not jump about.
  return sortRows(
    rows,
    up,
    (row) => row[column],
    (a, b) => a.signature - b.signature,
  );
}

export function sortTraces(rows: readonly TraceRow[], { column, up }: Order<TraceColumn>): TraceRow[] {
  const value = column === "ratio" ? ratio : (row: TraceRow) => row[column];
  // Equal ones: newest first, the default order.
  return sortRows(rows, up, value, (a, b) => b.trace - a.trace);
}

/** What part of the time that all signatures took a signature's runs did, 0 to 1. */
export function shareOf(row: SignatureRow, state: MonitorState): number {
  return state.total_ns > 0 ? row.total_ns / state.total_ns : 0;
}
