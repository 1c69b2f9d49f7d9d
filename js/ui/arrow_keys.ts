/**
 * Arrow keys in menus, and among the rows of a table or list; each row has one button with `data-row` that stands for it.
 */

import { useState } from "preact/hooks";

const STEPS: Record<string, (at: number, count: number) => number> = {
  ArrowDown: (at) => at + 1,
  ArrowUp: (at) => at - 1,
  PageDown: (at) => at + 10,
  PageUp: (at) => at - 10,
  Home: () => 0,
  End: (_, count) => count - 1,
};

/** The Tab key stops at one of the rows with these numbers, arrow keys move among them; `moved` hears to which. */
export function useRows(numbers: readonly number[], moved?: (row: number) => void) {
  const [current, setCurrent] = useState(-1);
  const stop = numbers.includes(current) ? current : numbers[0];
  return {
    stop,
    /** Attributes of the element around the rows, and of a row's button. */
    around: { onKeyDown: (event: KeyboardEvent) => moveAmongRows(event, moved) },
    button: (row: number) => ({
      type: "button" as const,
      "data-row": row,
      tabIndex: row === stop ? 0 : -1,
      onFocus: () => setCurrent(row),
    }),
  };
}

function moveAmongRows(event: KeyboardEvent, moved?: (row: number) => void): void {
  const step = STEPS[event.key];
  const table = event.currentTarget as HTMLElement;
  const from = (event.target as HTMLElement).closest("tr, li");
  if (!step || !from || event.ctrlKey || event.metaKey || event.altKey) return;
  const rows = [...table.querySelectorAll<HTMLElement>("[data-row]")];
  const at = rows.findIndex((row) => from.contains(row));
  if (at < 0) return;
  event.preventDefault();
  event.stopPropagation();
  const next = rows[Math.min(Math.max(step(at, rows.length), 0), rows.length - 1)];
  next.focus();
  moved?.(Number(next.dataset.row));
}

/** The arrow keys in a menu go from entry to entry, and round at its ends. */
export function moveInMenu(event: KeyboardEvent): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const entries = [
    ...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=menuitem]:not(:disabled)"),
  ];
  const at = entries.indexOf(event.target as HTMLElement) + (event.key === "ArrowDown" ? 1 : -1);
  entries[(at + entries.length) % entries.length]?.focus();
  event.preventDefault();
}
