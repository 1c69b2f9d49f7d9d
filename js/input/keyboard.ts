/** The commands of keys that are pressed in the timeline, wherever in it. */

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

/** Run the command of a key; false if it has none. `where` it is pressed: at the lanes, a control, or a text field. */
export function runKey(event: KeyboardEvent, actions: Actions, where: "home" | "control" | "field"): boolean {
  const { code, key, shiftKey } = event;
  if (event.ctrlKey || event.metaKey) {
    const command = shiftKey ? undefined : CONTROLLED[key.toLowerCase()];
    return command?.(actions, where === "field") ?? false;
  }
  const held = key in TYPED ? undefined : HELD[code];
  const command = TYPED[key] ?? RUN[code];
  if (held) actions.motion.hold(code, held.zoom, held.pan, shiftKey);
  else command?.(actions, shiftKey);
  if (key === "Escape" && where === "control") actions.focusLanes();
  return Boolean(held || command);
}

export function isUndo({ key, ctrlKey, metaKey, shiftKey, altKey }: KeyboardEvent): boolean {
  return (ctrlKey || metaKey) && !shiftKey && !altKey && key.toLowerCase() === "z";
}

/** Ends the movement of held keys, wherever the focus is by then. */
export function bindRelease({ store, motion }: Actions): void {
  const { signal } = store;
  window.addEventListener("keyup", ({ code }) => motion.release(code), { capture: true, signal });
  window.addEventListener("blur", () => motion.release(null), { signal });
}
