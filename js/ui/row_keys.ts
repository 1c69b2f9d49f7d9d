/** Arrow keys among the rows of a table or list; each row has one button with `data-row` that stands for it. */

const STEPS: Record<string, (at: number, count: number) => number> = {
  ArrowDown: (at) => at + 1,
  ArrowUp: (at) => at - 1,
  PageDown: (at) => at + 10,
  PageUp: (at) => at - 10,
  Home: () => 0,
  End: (_, count) => count - 1,
};

/** Move the focus to another row; `moved` hears which. */
export function moveAmongRows(event: KeyboardEvent, moved: (row: number) => void): void {
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
  moved(Number(next.dataset.row));
}
