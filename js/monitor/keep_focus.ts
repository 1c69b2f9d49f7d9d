/** Keeps the focus next to a control of the monitor that is disabled or removed. */

import type { Lost } from "../ui/kept_focus";

const CONTROLS = "button:enabled, input:enabled, [tabindex]";

/** Moves the focus to the control of `root` in the place of one that can no longer have it. */
export function besideLost(root: HTMLElement): Lost {
  /** What contains the control that has the focus, inside out, and its place among the controls there. */
  let around: [box: Element, place: number][] = [];
  return {
    gained(target) {
      around = [];
      for (let box = target.parentElement; box && box !== root.parentElement; box = box.parentElement) {
        around.push([box, controls(box).indexOf(target)]);
      }
    },
    instead() {
      for (const [box, place] of around) {
        const inside = box.isConnected ? controls(box) : [];
        if (inside.length === 0) continue;
        inside[Math.min(Math.max(place, 0), inside.length - 1)]!.focus();
        return;
      }
    },
  };
}

function controls(box: Element): HTMLElement[] {
  return [...box.querySelectorAll<HTMLElement>(CONTROLS)].filter(
    (each) => each.tabIndex >= 0 && each.checkVisibility(),
  );
}
