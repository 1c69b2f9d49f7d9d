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
