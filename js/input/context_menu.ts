/** The context menu over lanes and labels, by right click or the menu key. */

import { xAt } from "../model/viewport";
import type { Store } from "../state/store";
import type { Pointer } from "./pointer";

export function bindContextMenu(
  lanes: HTMLElement,
  labels: HTMLElement,
  store: Store,
  pointer: Pointer,
): void {
  const { signal } = store;
  const open = (
    event: MouseEvent,
    box: DOMRect,
    find: () => { x: number; y: number; event: number | null },
  ) => {
    // With Shift the browser's own menu opens, as everywhere.
    if (event.shiftKey && event.button === 2) return;
    const { x, y, event: id } = find();
    const key = store.itemAt(y)?.item.key ?? null;
    if (key === null) return;
    event.preventDefault();
    event.stopPropagation();
    store.setHover(null);
    store.setPanel({ menu: { x: box.left + x, y: box.top + y, event: id, key } });
  };
  lanes.addEventListener(
    "contextmenu",
    (event) => {
      const box = lanes.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      open(event, box, () =>
        isByKey(event) ? besideSelected(store) : { x, y, event: pointer.eventAt(x, y) },
      );
    },
    { signal },
  );
  labels.addEventListener(
    "contextmenu",
    (event) => {
      const box = labels.getBoundingClientRect();
      const focused = (event.target as Element).getBoundingClientRect();
      const [x, y] = isByKey(event) ? [focused.left + 8, focused.top + 8] : [event.clientX, event.clientY];
      open(event, box, () => ({ x: x - box.left, y: y - box.top, event: null }));
    },
    { signal },
  );
}

/** A mouse opens a menu with its second button, a finger by resting. */
function isByKey(event: MouseEvent & { pointerType?: string }): boolean {
  return event.button !== 2 && event.pointerType !== "touch";
}

/** Position of the selected event if in view, else of the first lane in view. */
export function besideSelected(store: Store): { x: number; y: number; event: number | null } {
  const { selected, scroll, covered, height, width, viewport } = store;
  const top = selected === null ? null : store.placement.top(selected);
  if (selected !== null && top !== null && top >= scroll + covered && top < scroll + height) {
    const x = xAt(viewport, store.drawn.start[selected], width);
    return {
      x: Math.min(Math.max(x, 0), width - 40),
      y: top - scroll + store.placement.height(selected) + 1,
      event: selected,
    };
  }
  const first = store.arrangement.items.find((item) => item.type === "lane" && item.y >= scroll + covered);
  return { x: 40, y: (first?.y ?? scroll) - scroll + 16, event: null };
}
