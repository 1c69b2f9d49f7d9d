/** One tab stop for all the buttons of the lanes' labels; the arrow keys go from one to the other. */

/** The buttons of `labels` from the top, each line from the left. */
function buttonsOf(labels: HTMLElement): HTMLElement[][] {
  const lines = [...labels.children].filter((child) => child instanceof HTMLElement);
  return (
    lines
      .sort((one, other) => one.getBoundingClientRect().top - other.getBoundingClientRect().top)
      .map((line) => (line.matches("button") ? [line] : [...line.querySelectorAll<HTMLElement>("button")]))
      // Tools are hidden unless the pointer or the focus is on their label.
      .map((buttons) => buttons.filter((button) => button.offsetParent !== null))
      .filter((buttons) => buttons.length > 0)
  );
}

/** Leave a tab stop to `present` alone, or to the first button where that is gone. */
export function keepOneStop(labels: HTMLElement, present: Element | null): void {
  const buttons = buttonsOf(labels).flat();
  const stop = buttons.find((button) => button === present) ?? buttons[0];
  for (const button of buttons) button.tabIndex = button === stop ? 0 : -1;
}

/** Move the focus: up and down to the same button of the next label, left and right within one. */
export function moveAmongLabels(labels: HTMLElement, event: KeyboardEvent): void {
  const down = { ArrowDown: 1, ArrowUp: -1 }[event.key] ?? 0;
  const right = { ArrowRight: 1, ArrowLeft: -1 }[event.key] ?? 0;
  if ((!down && !right) || event.ctrlKey || event.metaKey || event.altKey) return;
  const lines = buttonsOf(labels);
  const at = lines.findIndex((line) => line.includes(event.target as HTMLElement));
  if (at < 0) return;
  event.preventDefault();
  event.stopPropagation();
  const line = lines[Math.min(Math.max(at + down, 0), lines.length - 1)];
  const place = lines[at].indexOf(event.target as HTMLElement);
  // Counted from the right, because labels differ at their left.
  const wanted = right ? place + right : line.length - (lines[at].length - place);
  line[Math.min(Math.max(wanted, 0), line.length - 1)].focus();
}
