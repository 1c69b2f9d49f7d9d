/** Keeps rows in their places while the pointer or the keyboard is among them. */

import { useRef } from "preact/hooks";
import { held, lateOnes } from "./sorting";

interface Kept {
  choice: string;
  numbers: number[];
  /** Those that were there when the rows were last in order. */
  sorted: ReadonlySet<number>;
}

/**
 * `rows` in the order to show, how many of them came too late for their place in it, and what their element has to
 * be given. `choice` says what the user chose the order by: another choice is followed at once.
 */
export function useHeldOrder<Row>(rows: Row[], number: (row: Row) => number, choice: string) {
  const place = useRef<HTMLDivElement>(null);
  const kept = useRef<Kept>({ choice, numbers: [], sorted: new Set() });
  const isHeld =
    kept.current.choice === choice && (place.current?.matches(":hover, :has(:focus-visible)") ?? false);
  const shown = isHeld ? held(rows, kept.current.numbers, number) : rows;
  const numbers = shown.map(number);
  const sorted = isHeld ? kept.current.sorted : new Set(numbers);
  kept.current = { choice, numbers, sorted };
  return { shown, late: lateOnes(rows.map(number), numbers, sorted), place };
}
