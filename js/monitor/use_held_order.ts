/** Keeps rows in their places while the pointer or the keyboard is among them. */

import { useRef } from "preact/hooks";
import { held } from "./sorting";

/**
 * `rows` in the order to show, and what their element has to be given. `choice` says what the user chose the order by:
 * another choice is followed at once.
 */
export function useHeldOrder<Row>(rows: Row[], number: (row: Row) => number, choice: string) {
  const place = useRef<HTMLDivElement>(null);
  const kept = useRef<{ choice: string; numbers: number[] }>({ choice, numbers: [] });
  const isHeld =
    kept.current.choice === choice && (place.current?.matches(":hover, :has(:focus-visible)") ?? false);
  const shown = isHeld ? held(rows, kept.current.numbers, number) : rows;
  kept.current = { choice, numbers: shown.map(number) };
  return { shown, place };
}
