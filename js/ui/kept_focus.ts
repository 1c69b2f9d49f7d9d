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

/** Call `instead` where an element of `box` had the focus before this render and nothing has it afterwards. */
export function useKeptFocus(box: () => HTMLElement | null, instead: () => void): void {
  const before = focusIn(box());
  useLayoutEffect(() => {
    // What is disabled keeps the focus until the next frame.
    if (before && (isFocusLost() || (before === focusIn(box()) && before.matches(":disabled")))) instead();
  });
}
