/** Handles that change a size by dragging or by arrow keys: the label column, the details, the whole height. */

import { isShortcut } from "./own_keys";

interface SizeHandle {
  axis: "x" | "y";
  /** The size now, in CSS pixels. */
  read: () => number;
  write: (size: number) => void;
  least: number;
  most: () => number;
  /** +1 when moving right or down makes it larger. */
  direction: 1 | -1;
}

export function bindSize(element: HTMLElement, handle: SizeHandle, signal: AbortSignal): void {
  let start: { at: number; size: number } | null = null;
  const position = (event: PointerEvent) => (handle.axis === "x" ? event.clientX : event.clientY);
  const set = (wanted: number) => {
    const size = Math.round(Math.min(Math.max(wanted, handle.least), handle.most()));
    handle.write(size);
    element.setAttribute("aria-valuenow", String(size));
  };
  element.setAttribute("aria-valuenow", String(handle.read()));
  element.addEventListener(
    "pointerdown",
    (event) => {
      event.preventDefault();
      element.setPointerCapture(event.pointerId);
      start = { at: position(event), size: handle.read() };
    },
    { signal },
  );
  element.addEventListener(
    "pointermove",
    (event) => start && set(start.size + handle.direction * (position(event) - start.at)),
    { signal },
  );
  element.addEventListener("lostpointercapture", () => (start = null), { signal });
  const keys = handle.axis === "x" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
  element.addEventListener(
    "keydown",
    (event) => {
      const step = [-16, 16][keys.indexOf(event.key)];
      if (step === undefined || isShortcut(event)) return;
      event.preventDefault();
      set(handle.read() + handle.direction * step);
    },
    { signal },
  );
}
