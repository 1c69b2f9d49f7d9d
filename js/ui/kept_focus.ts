/** The focus stays in a view whose control with the focus is removed, moved, hidden or disabled. Browsers drop it. */

/** How a lost focus is replaced. */
export interface Lost {
  /** Called with each element that gets the focus. */
  gained: (target: HTMLElement) => void;
  /** Called when that element can no longer have it. */
  instead: () => void;
}

/** Whether nothing has the focus. */
export function isFocusLost(): boolean {
  return !document.activeElement || document.activeElement === document.body;
}

/** If the user moves it by keys, focuses the target of `data-focus` at the closest ancestor of the lost element. */
export function namedAround(): Lost {
  let around: HTMLElement[] = [];
  return {
    gained(target) {
      around = [];
      if (!target.matches(":focus-visible")) return;
      const outer = (from: Element | null) => from?.closest<HTMLElement>("[data-focus]");
      for (let box = outer(target); box; box = outer(box.parentElement)) around.push(box);
    },
    instead() {
      const box = around.find(({ isConnected }) => isConnected);
      box?.querySelector<HTMLElement>(box.dataset.focus!)?.focus();
    },
  };
}

/** Watch the element of `root` that has the focus. */
export function keepFocus(root: HTMLElement, signal: AbortSignal, { gained, instead }: Lost): void {
  const shadow = root.getRootNode() as ShadowRoot;
  let held: HTMLElement | null = null;
  const focused = ({ target }: FocusEvent) => {
    // Popovers give the focus back themselves.
    held = (target as HTMLElement).closest("[popover]") ? null : (target as HTMLElement);
    if (held) gained(held);
  };
  const changed = (records: MutationRecord[]) => {
    if (!held) return;
    const isUsable = held.isConnected && !held.matches(":disabled") && !held.closest("[hidden]");
    // A disabled element keeps the focus until the next frame.
    const isLost = isFocusLost() || shadow.activeElement === held;
    if (!isUsable) {
      held = null;
      if (isLost) instead();
    } else if (isFocusLost()) {
      const isMoved = records.some(({ addedNodes }) => [...addedNodes].some((node) => node.contains(held)));
      if (isMoved) held.focus({ preventScroll: true });
    }
  };
  const observer = new MutationObserver(changed);
  // Chromium also reports a removed control as left; by the next microtask it is gone.
  const left = () =>
    queueMicrotask(() => {
      changed(observer.takeRecords());
      if (held && shadow.activeElement !== held) held = null;
    });
  root.addEventListener("focusin", focused, { signal });
  root.addEventListener("focusout", left, { signal });
  observer.observe(root, { childList: true, subtree: true, attributeFilter: ["disabled", "hidden"] });
  signal.addEventListener("abort", () => observer.disconnect());
}
