/** The keys that JupyterLab may use for its own commands while the focus is inside one of our elements. */

/** Lumino takes no key for a command while the focused element, which it sees only from outside, has this. */
const SUPPRESS = "data-lm-suppress-shortcuts";

export function suppressShortcuts(element: HTMLElement): void {
  element.setAttribute(SUPPRESS, "true");
}

/**
 * JupyterLab's own shortcuts with Ctrl or Cmd, such as saving, keep working: the attribute that keeps its single-key
 * commands away is gone while one of these is held down.
 */
export function yieldShortcuts(element: HTMLElement, signal: AbortSignal): void {
  const watch = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey) element.removeAttribute(SUPPRESS);
    else suppressShortcuts(element);
  };
  element.addEventListener("keydown", watch, { capture: true, signal });
  element.addEventListener("keyup", watch, { capture: true, signal });
  element.addEventListener("focusout", () => suppressShortcuts(element), { signal });
}
