/** Dragging on the ruler zooms to the dragged range; a double click shows everything. */

import { timeAt } from "../model/viewport";
import type { Store } from "../state/store";
import type { Actions } from "./actions";

export function bindRuler(element: HTMLElement, store: Store, actions: Actions): void {
  const { signal } = store;
  let from: number | null = null;
  const time = (event: MouseEvent) =>
    timeAt(store.viewport, event.clientX - element.getBoundingClientRect().left, store.width);
  element.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      from = time(event);
      element.setPointerCapture(event.pointerId);
    },
    { signal },
  );
  element.addEventListener(
    "pointermove",
    (event) => {
      const now = time(event);
      store.setHover(null, now);
      if (from !== null)
        store.select({
          start: Math.min(from, now),
          end: Math.max(from, now),
          lanes: null,
          step: store.stepNumber,
        });
    },
    { signal },
  );
  element.addEventListener(
    "pointerup",
    (event) => {
      if (from === null) return;
      const range = { start: Math.min(from, time(event)), end: Math.max(from, time(event)) };
      from = null;
      store.select(null);
      if ((range.end - range.start) * store.width > 4 * (store.viewport.end - store.viewport.start))
        actions.show(range, 0);
    },
    { signal },
  );
  element.addEventListener("pointerleave", () => from === null && store.setHover(null, null), { signal });
  element.addEventListener("dblclick", () => actions.whole(), { signal });
}
