/** Decides which tables need the whole width, and which of their rows are shown. */

import { formatCount } from "../model/format/units";
import { NO_STEP } from "../model/types";
import type { TableBlock, TableColumn } from "./blocks";

const MAX_COLUMNS = 7;
/** For columns with several texts, which take more room than figures. */
const MAX_COLUMNS_WITH_TEXTS = 5;
const MAX_TEXTS = 2;

export const isText = ({ unit }: TableColumn): boolean => unit === "text" || unit === "name";

/** Side by side with another one their last columns would be out of sight. */
export function isWide(columns: readonly TableColumn[]): boolean {
  if (columns.length > MAX_COLUMNS) return true;
  return columns.length > MAX_COLUMNS_WITH_TEXTS && columns.filter(isText).length > MAX_TEXTS;
}

type Rows = Pick<TableBlock, "columns" | "rows" | "note">;

/**
 * Indexes of the rows to show while the timeline shows one step alone (its number), and of the one to mark,
 * -1 without one. A table with one row per step keeps them all, so that the step can be compared with the
 * others.
 */
export function rowsOfStep(
  { columns, rows }: Rows,
  step: number | null,
): { shown: number[]; marked: number } {
  const at = columns.findIndex(({ name }) => name === "step");
  const all = [...rows.keys()];
  if (at < 0 || step === null) return { shown: all, marked: -1 };
  const steps = rows.map((row) => row[at]);
  if (new Set(steps).size === rows.length) return { shown: all, marked: steps.indexOf(step) };
  return { shown: all.filter((index) => steps[index] === step), marked: -1 };
}

/** The text below a table that shows `shown` rows. */
export function rowsNote({ rows, note }: Rows, shown: number, step: number | null): string {
  if (shown === rows.length || step === null) return note;
  const part = `${formatCount(shown)} ${shown === 1 ? "is" : "are"} ${stepText(step)}.`;
  return note ? `${note} Of these, ${part}` : `Of ${formatCount(rows.length)} rows, ${part}`;
}

/** "in step 3", "outside steps". */
export function stepText(step: number): string {
  return step === NO_STEP ? "outside steps" : `in step ${step}`;
}
