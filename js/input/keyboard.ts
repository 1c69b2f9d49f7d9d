/** Runs the commands of keys that are pressed while the timeline has the focus. */

import type { Actions } from "./actions";
import { COMMANDS } from "./commands";

const HELD = Object.assign({}, ...COMMANDS.map(({ hold }) => hold)) as NonNullable<
  (typeof COMMANDS)[number]["hold"]
>;
const RUN = Object.assign({}, ...COMMANDS.map(({ run }) => run)) as NonNullable<
  (typeof COMMANDS)[number]["run"]
>;
const TYPED = Object.assign({}, ...COMMANDS.map(({ typed }) => typed)) as typeof RUN;

const CONTROLLED = Object.assign({}, ...COMMANDS.map(({ controlled }) => controlled)) as NonNullable<
  (typeof COMMANDS)[number]["controlled"]
>;

/** Runs the command of a key that means the timeline wherever it is pressed in it; false for none. */
export function runKey(
  { code, shiftKey, ctrlKey, metaKey, altKey }: KeyboardEvent,
  actions: Actions,
): boolean {
  const command = ctrlKey || metaKey || altKey ? undefined : RUN[code];
  command?.(actions, shiftKey);
  return command !== undefined;
}

function isTextField(target: EventTarget): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
}

export function isUndo({ key, ctrlKey, metaKey, shiftKey, altKey }: KeyboardEvent): boolean {
  return (ctrlKey || metaKey) && !shiftKey && !altKey && key.toLowerCase() === "z";
}

export function bindKeyboard(lanes: HTMLElement, root: HTMLElement, actions: Actions): void {
  const { store, motion } = actions;
  const { signal } = store;
  lanes.addEventListener(
    "keydown",
    (event) => {
      const { code, shiftKey } = event;
      if ((event.ctrlKey || event.metaKey) && !event.altKey && !shiftKey) {
        if (!CONTROLLED[event.key.toLowerCase()]?.(actions)) return;
        event.preventDefault();
        event.stopPropagation();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || event.key in TYPED) return;
      const held = HELD[code];
      if (held) motion.hold(code, held.zoom, held.pan, shiftKey);
      else if (!runKey(event, actions)) return;
      event.preventDefault();
      event.stopPropagation();
    },
    { signal },
  );
  lanes.addEventListener("keyup", (event) => motion.release(event.code), { signal });
  lanes.addEventListener("blur", () => motion.release(null), { signal });
  root.addEventListener(
    "keydown",
    (event) => {
      const isTyping = isTextField(event.composedPath()[0]);
      if (event.key === "Escape" && store.helpOpen) store.setPanel({ helpOpen: false });
      // The browser would bring back an earlier search.
      else if (!isTyping && isUndo(event)) event.preventDefault();
      else if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !TYPED[event.key]) return;
      else TYPED[event.key](actions, event.shiftKey);
      event.preventDefault();
      event.stopPropagation();
    },
    { signal },
  );
}
