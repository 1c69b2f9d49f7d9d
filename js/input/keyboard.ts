/**
 * Keys, by `event.code` so that W A S D lie where they lie on every layout. Only keys pressed while the timeline
 * has the focus arrive here.
 */

import { toggleCritical } from "../state/critical_path";
import type { Store } from "../state/store";
import type { Commands } from "./commands";

/** Zoom and pan of the keys that act for as long as they are held. */
const HELD: Record<string, [zoom: number, pan: number]> = {
  KeyW: [1, 0],
  KeyS: [-1, 0],
  KeyA: [0, -1],
  KeyD: [0, 1],
};

export function bindKeyboard(
  lanes: HTMLElement,
  root: HTMLElement,
  store: Store,
  commands: Commands,
  focusSearch: () => void,
): void {
  const { signal } = store;
  const once: Record<string, (shift: boolean) => void> = {
    Equal: () => commands.zoom(1.5),
    NumpadAdd: () => commands.zoom(1.5),
    Minus: () => commands.zoom(1 / 1.5),
    NumpadSubtract: () => commands.zoom(1 / 1.5),
    KeyF: () => commands.fitSelection(),
    Digit0: () => commands.whole(),
    Numpad0: () => commands.whole(),
    Home: () => commands.whole(),
    Backspace: (shift) => (shift ? commands.forward() : commands.back()),
    ArrowLeft: () => commands.stepInLane(-1),
    ArrowRight: () => commands.stepInLane(1),
    ArrowUp: () => commands.stepAcross(-1),
    ArrowDown: () => commands.stepAcross(1),
    BracketLeft: () => commands.follow(-1),
    BracketRight: () => commands.follow(1),
    KeyC: () => toggleCritical(store),
    KeyM: (shift) => commands.mark(shift),
    KeyN: (shift) => commands.nextMatch(shift ? -1 : 1),
    PageDown: () => store.scrollTo(store.scroll + store.height * 0.85),
    PageUp: () => store.scrollTo(store.scroll - store.height * 0.85),
    Enter: () => commands.fitSelection(),
    Escape: () => commands.clear(),
  };
  lanes.addEventListener(
    "keydown",
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const held = HELD[event.code];
      if (held) commands.motion.hold(event.code, held[0], held[1], event.shiftKey);
      else if (once[event.code] && event.key !== "?") once[event.code]?.(event.shiftKey);
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
    { signal },
  );
  lanes.addEventListener("keyup", (event) => commands.motion.release(event.code), { signal });
  lanes.addEventListener("blur", () => commands.motion.release(null), { signal });
  // By the character, not the key: where "/" and "?" lie differs between layouts.
  root.addEventListener(
    "keydown",
    (event) => {
      const typing = event.composedPath()[0] instanceof HTMLInputElement;
      if (event.key === "Escape" && store.helpOpen) store.setPanel({ helpOpen: false });
      else if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      else if (event.key === "/") focusSearch();
      else if (event.key === "?") store.setPanel({ helpOpen: !store.helpOpen });
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
    { signal },
  );
}
