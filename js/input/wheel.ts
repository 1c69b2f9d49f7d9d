/**
 * The wheel. Bare, it belongs to the notebook until the timeline has the focus, then it scrolls the lanes as far as
 * they go; with Ctrl, Cmd or a pinch it zooms at the cursor; sideways or with Shift it pans.
 */

import { pan, timeAt, zoomAt } from "../model/viewport";
import type { Store } from "../state/store";

/** Wheel steps of one gesture come closer together than this. */
const PAUSE_MS = 350;

export function bindWheel(
  element: HTMLElement,
  store: Store,
  options: { scrollTo: (top: number) => void; hint: () => void },
): void {
  let gesture = 0;
  let last = 0;
  let hasZoomed = false;
  const name = () => {
    const now = performance.now();
    if (now - last > PAUSE_MS) gesture++;
    last = now;
    return `wheel ${gesture}`;
  };
  element.addEventListener(
    "wheel",
    (event) => {
      const unit =
        event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 17 : event.deltaMode === 2 ? store.height : 1;
      const dx = event.deltaX * unit;
      const dy = event.deltaY * unit;
      const box = element.getBoundingClientRect();
      const { viewport, bounds } = store;
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        hasZoomed = true;
        const at = timeAt(viewport, event.clientX - box.left, store.width);
        // The logarithm makes one notch of a mouse and the many small steps of a trackpad both feel right.
        const power = Math.sign(-dy) * 0.1 * Math.log2(1 + Math.abs(dy));
        store.setViewport(zoomAt(viewport, 2 ** power, at, bounds), name());
        return;
      }
      const sideways = event.shiftKey ? dx || dy : Math.abs(dx) > Math.abs(dy) ? dx : 0;
      if (sideways) {
        event.preventDefault();
        const delta = (sideways / store.width) * (viewport.end - viewport.start);
        store.setViewport(pan(viewport, delta, bounds), name());
        return;
      }
      const root = element.getRootNode();
      const focused = root instanceof ShadowRoot && root.activeElement !== null;
      if (OWNS_PAGE || focused) {
        const before = store.scroll;
        options.scrollTo(before + dy);
        const isWhole = OWNS_PAGE && document.documentElement.scrollHeight <= innerHeight;
        if (store.scroll !== before || isWhole) event.preventDefault();
        if (store.scroll !== before) return;
      }
      if (!hasZoomed) options.hint();
    },
    { passive: false, signal: store.signal },
  );
}
