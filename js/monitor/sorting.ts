/** Sorts signatures and traces, and keeps the order while the pointer or the keyboard is among the rows. */

import { useRef } from "preact/hooks";
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

interface Kept {
  choice: string;
  numbers: number[];
  /** The rows present at the last sorting. */
  sorted: ReadonlySet<number>;
}

/**
 * `rows` in the order to show, how many of them came too late for their position in it, and the ref for their
 * element. `choice` is the order the user chose: another choice applies at once.
 */
export function useStableOrder<Row>(rows: Row[], number: (row: Row) => number, choice: string) {
  const group = useRef<HTMLDivElement>(null);
  const kept = useRef<Kept>({ choice, numbers: [], sorted: new Set() });
  const isHeld =
    kept.current.choice === choice && (group.current?.matches(":hover, :has(:focus-visible)") ?? false);
  const shown = isHeld ? stableOrder(rows, kept.current.numbers, number) : rows;
  const numbers = shown.map(number);
  const sorted = isHeld ? kept.current.sorted : new Set(numbers);
  kept.current = { choice, numbers, sorted };
  return { shown, late: lateOnes(rows.map(number), numbers, sorted), group };
}

/**
 * The order to show while the user is at the rows: unchanged, without rows that are gone, new ones at the
 * end. A row must not go away from under the pointer because its total has passed another's.
 */
export function stableOrder<Row>(
  rows: readonly Row[],
  before: readonly number[],
  number: (row: Row) => number,
): Row[] {
  const positions = new Map(before.map((each, index) => [each, index]));
  const position = (row: Row) => positions.get(number(row)) ?? before.length;
  return [...rows].sort((a, b) => position(a) - position(b));
}

/** The number of rows that are out of order because they arrived after the others were `sorted`. */
export function lateOnes(
  belong: readonly number[],
  shown: readonly number[],
  sorted: ReadonlySet<number>,
): number {
  return belong.filter((number, index) => number !== shown[index] && !sorted.has(number)).length;
}
