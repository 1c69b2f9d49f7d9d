/**
 * The keys and the focus of a view that may be a guest in another page: a key works wherever in the view the user has
 * clicked, and only Ctrl and Cmd reach the page around it.
 */

import { joinLink, type LinkMessage } from "../host/channel";
import { isFocusLost, keepFocus, type Lost } from "./kept_focus";

/** Where a key is pressed: at the view's home, at one of its controls, or in a text field. */
export type Where = "home" | "control" | "field";

/** What a view does with keys. Owners set it once they know. */
export interface OwnKeys {
  /** Returns what gets the focus where no control has it. */
  home: () => HTMLElement;
  /** Runs the command of a key; false if there is none. Plain keys in text fields do not come here. */
  press: (event: KeyboardEvent, where: Where) => boolean;
  /** Whether the page has no other use for keys that are pressed outside all views. */
  isMain: boolean;
}

/** JupyterLab runs no command while the focused element, which it sees only from outside, has this. */
const SUPPRESS = "data-lm-suppress-shortcuts";
/** What controls use themselves, and what scrolls the panes around them. */
const MOVING = /^(Enter| |Tab|ContextMenu|Arrow(Left|Right|Up|Down)|Home|End|PageUp|PageDown)$/;
/** Letters and digits choose an option of a select. */
const CHOOSING = /^[\p{L}\p{N}]$/u;
/** With Ctrl or Cmd these edit text here, but in JupyterLab 4 they select, merge, restore and move cells. */
const EDITING = /^([amz]|Backspace|Delete|Arrow\w+)$/i;
const QUIETLY = { preventScroll: true };
const NO_TEXT = /^(checkbox|radio|range|button|submit|reset|color|file|image)$/;

const roots = new WeakSet<EventTarget>();

export function isTextField(target: EventTarget): boolean {
  return (
    target instanceof HTMLTextAreaElement ||
    (target instanceof HTMLInputElement && !NO_TEXT.test(target.type))
  );
}

/** Whether a key is held down that makes another one a shortcut of the browser or of the page. */
export function isShortcut({ ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  return ctrlKey || metaKey || altKey;
}

function isTextSelected(): boolean {
  return `${getSelection() ?? ""}` !== "";
}

/** Give keys and focus to the view that `root` holds, in the shadow of `element`, until `signal` aborts. */
export function ownKeys(
  element: HTMLElement,
  root: HTMLElement,
  signal: AbortSignal,
  lost: Partial<Lost> = {},
): OwnKeys {
  const keys: OwnKeys = { home: () => root, press: () => false, isMain: false };
  const goHome = () => keys.home().focus(QUIETLY);
  const isOwn = (event: Event) => {
    const path = event.composedPath();
    return path.includes(root) || (keys.isMain && !path.some((each) => roots.has(each)));
  };
  const whereOf = (target: EventTarget): Where => {
    if (isTextField(target)) return "field";
    const home = keys.home();
    // A view without a home scrolls by the keys that would move something there.
    return home !== root && [root, home, document.body].includes(target as HTMLElement) ? "home" : "control";
  };
  const run = (event: KeyboardEvent): boolean => {
    const target = event.composedPath()[0];
    // Menus, dialogs and the help have the keys to themselves.
    if (event.altKey || !(target instanceof Element) || target.closest("[popover]")) return false;
    // The browser closes one that has not got the focus yet.
    if (event.key === "Escape" && root.querySelector("[popover=auto]:popover-open")) return false;
    const where = whereOf(target);
    if (!isShortcut(event)) {
      if (where === "field" || (where === "control" && MOVING.test(event.key))) return false;
      if (isSelect(target) && CHOOSING.test(event.key)) return false;
    }
    return keys.press(event, where);
  };
  // Before JupyterLab, which listens at the document.
  const first = (event: KeyboardEvent) => {
    if (!isOwn(event)) return;
    const isPlain = !event.ctrlKey && !event.metaKey;
    const isTaken = !isPlain && run(event);
    if (isTaken) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
    const isEditing =
      EDITING.test(event.key) || (event.key === "Enter" && isTextField(event.composedPath()[0]));
    element.toggleAttribute(SUPPRESS, isPlain || isTaken || isEditing);
  };
  const pressed = (event: KeyboardEvent) => {
    if (!isOwn(event)) return;
    if (event.ctrlKey || event.metaKey) {
      // The browser would bring back what was typed in a field before.
      const isUndo = event.key.toLowerCase() === "z" && !isTextField(event.composedPath()[0]);
      if (isUndo) event.preventDefault();
      return;
    }
    if (!event.defaultPrevented && run(event)) event.preventDefault();
    event.stopPropagation();
  };
  roots.add(root);
  signal.addEventListener("abort", () => roots.delete(root));
  element.toggleAttribute(SUPPRESS, true);
  window.addEventListener("keydown", first, { capture: true, signal });
  root.addEventListener("keydown", pressed, { signal });
  document.addEventListener("keydown", (event) => keys.isMain && pressed(event), { signal });

  // Whatever has no focus of its own gives it to the element around it, and that would be a notebook's cell.
  root.tabIndex = -1;
  /** Where the pointer was pressed last; null once a key was. */
  let pointed: EventTarget | null = null;
  let isPressed = false;
  const pressedPointer = (event: PointerEvent) => {
    const path = event.composedPath();
    pointed = path[0];
    isPressed = true;
    // The focus follows the mouse's events, which the browser leaves out then.
    if (event.defaultPrevented)
      (focusableIn(path.slice(0, path.indexOf(root))) ?? keys.home()).focus(QUIETLY);
  };
  const released = () => {
    if (isPressed && root.matches(":focus") && !isTextSelected()) goHome();
    isPressed = false;
  };
  root.addEventListener("pointerdown", pressedPointer, { signal });
  for (const kind of ["pointerup", "pointercancel"]) window.addEventListener(kind, released, { signal });
  // While text is being selected, Chromium would forget it.
  root.addEventListener("focus", () => !isPressed && keys.home() !== root && goHome(), { signal });
  root.addEventListener("keydown", () => (pointed = null), { capture: true, signal });
  // Whoever chooses with the pointer goes on with the keys of the view.
  root.addEventListener("change", ({ target }) => isSelect(target) && target === pointed && goHome(), {
    signal,
  });
  const instead = () => {
    lost.instead?.();
    if (isFocusLost()) goHome();
  };
  keepFocus(root, signal, { ...lost, instead });
  return keys;
}

/** Run the keys that are pressed in linked views, such as the tabs of a timeline. */
export function followKeys(link: string, keys: OwnKeys, signal: AbortSignal): void {
  const hear = (message: LinkMessage) => {
    if (message.kind === "key" && keys.press(message.event, "home")) message.event.preventDefault();
  };
  joinLink(link, hear, signal);
}

/** What a view does with keys that a linked one has to run. */
export function passOn(publish: (message: LinkMessage) => void): OwnKeys["press"] {
  return (event) => {
    if (!isShortcut(event)) publish({ kind: "key", event });
    return event.defaultPrevented;
  };
}

function isSelect(target: EventTarget | null): target is HTMLSelectElement {
  return target instanceof HTMLSelectElement;
}

function focusableIn(path: readonly EventTarget[]): HTMLElement | undefined {
  return path.find((each): each is HTMLElement => each instanceof HTMLElement && each.tabIndex >= 0);
}
