/** In which order rows are shown, and which of them. */

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

export interface Sort<Column> {
  by: Column;
  up: boolean;
}

/** What a click on a column's head makes of the present order: the other way round, or that column's usual one. */
export function nextSort<Column extends string>(sort: Sort<Column>, by: Column): Sort<Column> {
  if (sort.by === by) return { by, up: !sort.up };
  // Texts from A on, figures from the largest on.
  return { by, up: by === "label" || by === "kind" };
}

const order = new Intl.Collator("en", { numeric: true });

function compare(a: string | number | null, b: string | number | null): number {
  if (typeof a === "string" && typeof b === "string") return order.compare(a, b);
  return (
    (a === null ? Number.NEGATIVE_INFINITY : Number(a)) - (b === null ? Number.NEGATIVE_INFINITY : Number(b))
  );
}

/** Sorted by what `value` gives; rows that are equal in that by `number`, so that they do not jump about. */
function sorted<Row>(
  rows: readonly Row[],
  up: boolean,
  value: (row: Row) => string | number | null,
  number: (row: Row) => number,
): Row[] {
  const way = up ? 1 : -1;
  return [...rows].sort((a, b) => way * compare(value(a), value(b)) || number(a) - number(b));
}

export function sortSignatures(rows: readonly SignatureRow[], sort: Sort<SignatureColumn>): SignatureRow[] {
  return sorted(
    rows,
    sort.up,
    (row) => row[sort.by],
    (row) => row.signature,
  );
}

export function sortTraces(
  rows: readonly TraceRow[],
  sort: Sort<TraceColumn>,
  means: ReadonlyMap<number, number>,
): TraceRow[] {
  const { by } = sort;
  const value = by === "ratio" ? (row: TraceRow) => ratio(row, means) : (row: TraceRow) => row[by];
  // Of equal ones the newest first, as they come.
  return sorted(rows, sort.up, value, (row) => -row.trace);
}

/** The mean duration of each signature's runs. */
export function meansOf(rows: readonly SignatureRow[]): Map<number, number> {
  return new Map(rows.flatMap((row) => (row.mean_ns ? [[row.signature, row.mean_ns] as const] : [])));
}

/** How many times the mean of its signature a traced run took; null where that is not known. */
export function ratio(row: TraceRow, means: ReadonlyMap<number, number>): number | null {
  const mean = means.get(row.signature);
  return mean ? row.duration_ns / mean : null;
}

/** What part of the time that all signatures took a signature's runs did, 0 to 1. */
export function shareOf(row: SignatureRow, state: MonitorState): number {
  return state.total_ns > 0 ? row.total_ns / state.total_ns : 0;
}

/** The signatures in whose label, kind or names all words of `text` are found, in either case. */
export function filterSignatures(rows: readonly SignatureRow[], text: string): SignatureRow[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...rows];
  return rows.filter((row) => {
    const all = [row.label, row.kind, ...row.fetches, ...row.targets, ...row.feeds].join("\n").toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

/**
 * The order to show while somebody is at the rows: as it was, without those that are gone, new ones at the end. A row
 * must not go away from under the pointer because its total has passed another's.
 */
export function held<Row>(
  rows: readonly Row[],
  before: readonly number[],
  number: (row: Row) => number,
): Row[] {
  const places = new Map(before.map((each, place) => [each, place]));
  const place = (row: Row) => places.get(number(row)) ?? before.length;
  return [...rows].sort((a, b) => place(a) - place(b));
}

/** How many rows are shown elsewhere than where they belong because they came after the rest had been `sorted`. */
export function lateOnes(
  belong: readonly number[],
  shown: readonly number[],
  sorted: ReadonlySet<number>,
): number {
  return belong.filter((number, place) => number !== shown[place] && !sorted.has(number)).length;
}
