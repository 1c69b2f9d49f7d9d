/** In which order the rows of a table are shown. */

import type { Cell } from "../panels/blocks";

export interface Order {
  column: number;
  up: boolean;
}

const order = new Intl.Collator("en", { numeric: true });

/** The places of the rows in the order shown; as they came without one. What is not known is last either way. */
export function ordered(rows: readonly (readonly Cell[])[], by: Order | null): number[] {
  const places = rows.map((_, place) => place);
  if (!by) return places;
  const way = by.up ? 1 : -1;
  return places.sort((one, other) => {
    const [a, b] = [rows[one][by.column], rows[other][by.column]];
    if (a === null || b === null) return Number(a === null) - Number(b === null) || one - other;
    const sign = typeof a === "number" && typeof b === "number" ? a - b : order.compare(String(a), String(b));
    return way * sign || one - other;
  });
}

/** What a click on a column's head makes of the order: the other way round, or texts from A, figures from the largest. */
export function nextOrder(by: Order | null, column: number, isText: boolean): Order {
  return by?.column === column ? { column, up: !by.up } : { column, up: isText };
}
