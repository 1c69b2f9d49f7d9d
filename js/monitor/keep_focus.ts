/** Keeps the focus in the monitor if the control that has it is disabled or removed. */

import { isFocusLost } from "../ui/kept_focus";

const CONTROLS = "button:enabled, input:enabled, [tabindex]";

/** Move the focus of `root` to the control in the place of one that can no longer have it. */
export function keepFocus(root: HTMLElement, signal: AbortSignal): void {
  const shadow = root.getRootNode() as ShadowRoot;
  let held: HTMLElement | null = null;
  /** What contains it, inside out, and its place among the controls there. */
  let around: [box: Element, place: number][] = [];

  const isUsable = () => held!.isConnected && !held!.matches(":disabled");
  const gained = (event: FocusEvent) => {
    const target = event.target as HTMLElement;
    // Popovers give the focus back themselves.
    held = target.closest("[popover]") ? null : target;
    around = [];
    for (let box = target.parentElement; box && box !== root.parentElement; box = box.parentElement) {
      around.push([box, controls(box).indexOf(target)]);
    }
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
    if (!isLost) return;
    for (const [box, place] of around) {
      const inside = box.isConnected ? controls(box) : [];
      if (inside.length === 0) continue;
      inside[Math.min(Math.max(place, 0), inside.length - 1)]!.focus();
      return;
    }
  };
  root.addEventListener("focusin", gained, { signal });
  root.addEventListener("focusout", left, { signal });
  const observer = new MutationObserver(changed);
  observer.observe(root, { childList: true, subtree: true, attributeFilter: ["disabled"] });
  signal.addEventListener("abort", () => observer.disconnect());
}

function controls(box: Element): HTMLElement[] {
  return [...box.querySelectorAll<HTMLElement>(CONTROLS)].filter(
    (each) => each.tabIndex >= 0 && each.checkVisibility(),
  );
}
