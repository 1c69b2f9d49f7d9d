/** Returns the focus to a table row when the trace it opened is closed. */

export function focusRow(within: Node | null | undefined, table: "signatures" | "traces", row: number): void {
  const root = within?.getRootNode();
  if (!(root instanceof ShadowRoot)) return;
  root.querySelector<HTMLElement>(`[data-part=${table}] [data-row="${row}"]`)?.focus();
}
