/** By what signatures and traces are sorted, and what of that is not in their rows. */

import { type Order, sortRows } from "../ui/sort";
import type { MonitorState, SignatureRow, TraceRow } from "./host";

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

export type TraceColumn = "run" | "label" | "start_ms" | "duration_ns" | "ratio" | "bytes" | "process";

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

export function sortTraces(
  rows: readonly TraceRow[],
  { column, up }: Order<TraceColumn>,
  means: ReadonlyMap<number, number>,
): TraceRow[] {
  const value = column === "ratio" ? (row: TraceRow) => ratio(row, means) : (row: TraceRow) => row[column];
  // Of equal ones the newest first, as they come.
  return sortRows(rows, up, value, (a, b) => b.trace - a.trace);
}

/** The mean duration of each signature's runs that were not traced, as far as their traces are listed. */
export function untracedMeans({ signatures, traces }: MonitorState): Map<number, number> {
  const left = new Map(
    signatures.map(({ signature, runs, total_ns }) => [signature, { runs, ns: total_ns }]),
  );
  for (const { signature, duration_ns } of traces) {
    const rest = left.get(signature);
    if (!rest) continue;
    rest.runs--;
    rest.ns -= duration_ns;
  }
  const known = [...left].filter(([, { runs, ns }]) => runs > 0 && ns > 0);
  return new Map(known.map(([signature, { runs, ns }]) => [signature, ns / runs]));
}

/** How many times the mean of its signature's untraced runs a traced run took; null where that is not known. */
export function ratio(row: TraceRow, means: ReadonlyMap<number, number>): number | null {
  const mean = means.get(row.signature);
  return mean ? row.duration_ns / mean : null;
}

/** What part of the time that all signatures took a signature's runs did, 0 to 1. */
export function shareOf(row: SignatureRow, state: MonitorState): number {
  return state.total_ns > 0 ? row.total_ns / state.total_ns : 0;
}
