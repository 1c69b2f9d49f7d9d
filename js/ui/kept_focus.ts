/** The focus of somebody who uses the keyboard stays in the view where a button goes away that was just pressed. */

import { useLayoutEffect } from "preact/hooks";

/** Where the focus is in the shadow root or page of `box`, if it is in `box`. */
function focusIn(box: HTMLElement | null): Element | null {
  const root = box?.getRootNode();
  const active = root instanceof ShadowRoot || root instanceof Document ? root.activeElement : null;
  return active && box!.contains(active) ? active : null;
}

/** Whether nothing has the focus. */
export function isFocusLost(): boolean {
  return !document.activeElement || document.activeElement === document.body;
}

/**
 * Call `instead` if an element of `box` had the focus before this render and nothing has it afterwards. It is told
 * whether the focus was moved by keys.
 */
export function useKeptFocus(box: () => HTMLElement | null, instead: (isByKeys: boolean) => void): void {
  const before = focusIn(box());
  const isByKeys = before?.matches(":focus-visible") ?? false;
  useLayoutEffect(() => {
    // What is disabled keeps the focus until the next frame.
    if (before && (isFocusLost() || (before === focusIn(box()) && before.matches(":disabled"))))
      instead(isByKeys);
  });
}

/** How a lost focus is replaced. */
export interface Lost {
  /** Called with each element that gets the focus. */
  gained: (target: HTMLElement) => void;
  /** Called when that element is removed, hidden or disabled. */
  instead: () => void;
}

/** Watch the element of `root` that has the focus. If it can no longer have it, browsers leave the focus nowhere. */
export function keepFocus(root: HTMLElement, signal: AbortSignal, { gained, instead }: Partial<Lost>): void {
  const shadow = root.getRootNode() as ShadowRoot;
  let held: HTMLElement | null = null;
  const isUsable = () => held!.isConnected && !held!.matches(":disabled") && !held!.closest("[hidden]");
  const focused = ({ target }: FocusEvent) => {
    // Popovers give the focus back themselves.
    held = (target as HTMLElement).closest("[popover]") ? null : (target as HTMLElement);
    if (held) gained?.(held);
  };
  // Chromium also reports a removed control as left; by the next microtask it is gone.
  const left = () =>
    queueMicrotask(() => {
      if (held && isUsable() && shadow.activeElement !== held) held = null;
    });
  const changed = () => {
    if (!held || isUsable()) return;
    // What is disabled keeps the focus until the next frame.
    const isLost = isFocusLost() || shadow.activeElement === held;
    held = null;
    if (isLost) instead?.();
  };
  root.addEventListener("focusin", focused, { signal });
  root.addEventListener("focusout", left, { signal });
  const observer = new MutationObserver(changed);
  observer.observe(root, { childList: true, subtree: true, attributeFilter: ["disabled", "hidden"] });
  signal.addEventListener("abort", () => observer.disconnect());
}
