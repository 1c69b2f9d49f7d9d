/** In which order the rows of a table are shown. */

export type Value = string | number | null;

export interface Order<Column> {
  column: Column;
  up: boolean;
}

const { compare } = new Intl.Collator("en", { numeric: true });

/** The rows by what `value` gives, null last either way; equal ones by `tie`, or as they came. */
export function sortRows<Row>(
  rows: readonly Row[],
  up: boolean,
  value: (row: Row) => Value,
  tie: (one: Row, other: Row) => number = () => 0,
): Row[] {
  const sign = up ? 1 : -1;
  return [...rows].sort((one, other) => {
    const [a, b] = [value(one), value(other)];
    if (a === null || b === null) return Number(a === null) - Number(b === null) || tie(one, other);
    const order = typeof a === "number" && typeof b === "number" ? a - b : compare(String(a), String(b));
    return sign * order || tie(one, other);
  });
}

/** A column that rows can be sorted by. */
interface Sortable<Row> {
  isText: boolean;
  value: (row: Row) => Value;
}

/** The column and direction that the rows are already sorted by; null if no column fits, or with few rows. */
export function presentOrder<Row>(
  rows: readonly Row[],
  columns: readonly Sortable<Row>[],
): Order<number> | null {
  // Two rows are always in some order.
  if (rows.length < 3) return null;
  const fits = (column: number, up: boolean) => {
    const { value } = columns[column];
    const isVaried = rows.some((row) => value(row) !== value(rows[0]));
    const isAfter = (row: Row, at: number) =>
      at === 0 || sortRows([rows[at - 1], row], up, value)[0] === rows[at - 1];
    return isVaried && rows.every(isAfter);
  };
  const figures = [...columns.keys()].filter((column) => !columns[column].isText);
  const found = figures.find((column) => fits(column, false));
  if (found !== undefined) return { column: found, up: false };
  const rising = [...columns.keys()].find((column) => fits(column, true));
  return rising === undefined ? null : { column: rising, up: true };
}

/**
 * The order after a click on a column's head: reversed if sorted by it, else texts from A, figures from the
 * largest.
 */
export function nextOrder<Column>(
  order: Order<Column> | null,
  column: Column,
  isText: boolean,
): Order<Column> {
  return order?.column === column ? { column, up: !order.up } : { column, up: isText };
}
