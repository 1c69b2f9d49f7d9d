/**
 * Keys and focus of a view inside another page, such as a notebook. Keys work after a click anywhere in the view, and
 * only shortcuts with Ctrl or Cmd reach the page.
 */

import { joinLink, type LinkMessage } from "../host/channel";
import { isFocusLost, keepFocus, namedAround } from "./kept_focus";

/** Where the focus is: at the view's home, at one of its controls, or in a text field. */
export type Where = "home" | "control" | "field";

/** How a view uses keys. Views set these once they are drawn. */
export interface OwnKeys {
  /** Returns the element that gets the focus if no control has it. */
  home: () => HTMLElement;
  /** Runs the command of a key; false if it has none. Not called for plain keys in text fields. */
  press: (event: KeyboardEvent, where: Where) => boolean;
  /** Whether keys pressed outside all views of the page are for this one. */
  isMain: boolean;
}

/** JupyterLab runs no commands while the focused element has this. It sees the host of the shadow as focused. */
const SUPPRESS = "data-lm-suppress-shortcuts";
/** Keys that controls use themselves, and keys that scroll the panes around them. */
const MOVING = /^(Enter| |Tab|ContextMenu|Arrow(Left|Right|Up|Down)|Home|End|PageUp|PageDown)$/;
/** Keys that scroll the page if a view has no command for them. */
const SCROLLING = /^( |Home|End|Page(Up|Down)|Arrow\w+)$/;
/** Letters and digits choose an option in a select. */
const CHOOSING = /^[\p{L}\p{N}]$/u;
/** With Ctrl or Cmd these edit text, but JupyterLab 4 selects, merges, restores and moves cells with them. */
const EDITING = /^([amz]|Backspace|Delete|Arrow\w+)$/i;
const QUIETLY = { preventScroll: true };
const NO_TEXT = /^(checkbox|radio|range|button|submit|reset|color|file|image)$/;

const roots = new WeakSet<EventTarget>();

function isTextField(target: EventTarget): boolean {
  return (
    target instanceof HTMLTextAreaElement ||
    (target instanceof HTMLInputElement && !NO_TEXT.test(target.type))
  );
}

/** Whether a key may be a shortcut of the browser or the page. */
export function isShortcut({ ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  return ctrlKey || metaKey || altKey;
}

function isTextSelected(): boolean {
  return `${getSelection() ?? ""}` !== "";
}

/** Give the view in `root`, in the shadow of `element`, its keys and focus until `signal` aborts. */
export function ownKeys(
  element: HTMLElement,
  root: HTMLElement,
  signal: AbortSignal,
  lost = namedAround(),
): OwnKeys {
  const keys: OwnKeys = { home: () => root, press: () => false, isMain: false };
  const goHome = () => keys.home().focus(QUIETLY);
  const isOwn = (event: Event) => {
    if (OWNS_PAGE && !HAS_PANELS) return true;
    const path = event.composedPath();
    return path.includes(root) || (keys.isMain && !path.some((each) => roots.has(each)));
  };
  const whereOf = (target: EventTarget): Where => {
    if (isTextField(target)) return "field";
    const home = keys.home();
    // Without a home, moving keys scroll the view.
    return home !== root && [root, home, document.body].includes(target as HTMLElement) ? "home" : "control";
  };
  const run = (event: KeyboardEvent): boolean => {
    const target = event.composedPath()[0];
    // Menus, dialogs and the help handle their own keys.
    if (event.altKey || !(target instanceof Element) || target.closest("[popover]")) return false;
    // The browser closes an open menu, even if it does not have the focus yet.
    if (event.key === "Escape" && root.querySelector("[popover=auto]:popover-open")) return false;
    const where = whereOf(target);
    if (!isShortcut(event)) {
      if (where === "field" || (where === "control" && MOVING.test(event.key))) return false;
      if (isSelect(target) && CHOOSING.test(event.key)) return false;
    }
    return keys.press(event, where);
  };
  // Runs before the listener of JupyterLab, which is at the document.
  const first = (event: KeyboardEvent) => {
    if (!isOwn(event)) return;
    const isPlain = !event.ctrlKey && !event.metaKey;
    const isTaken = !isPlain && run(event);
    if (isTaken) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
    if (OWNS_PAGE) return;
    const isEditing =
      EDITING.test(event.key) || (event.key === "Enter" && isTextField(event.composedPath()[0]));
    element.toggleAttribute(SUPPRESS, isPlain || isTaken || isEditing);
  };
  const pressed = (event: KeyboardEvent) => {
    if (!isOwn(event)) return;
    if (event.ctrlKey || event.metaKey) {
      // The browser would undo earlier typing in a field.
      const isUndo = event.key.toLowerCase() === "z" && !isTextField(event.composedPath()[0]);
      if (isUndo) event.preventDefault();
      return;
    }
    const atHome = whereOf(event.composedPath()[0]) === "home";
    if (!event.defaultPrevented && (run(event) || (atHome && SCROLLING.test(event.key))))
      event.preventDefault();
    event.stopPropagation();
  };
  roots.add(root);
  signal.addEventListener("abort", () => roots.delete(root));
  if (!OWNS_PAGE) element.toggleAttribute(SUPPRESS, true);
  window.addEventListener("keydown", first, { capture: true, signal });
  root.addEventListener("keydown", pressed, { signal });
  document.addEventListener("keydown", (event) => keys.isMain && pressed(event), { signal });

  // A click on something that cannot have the focus gives it to the closest element that can. Without this, that is
  // the notebook's cell, where D D deletes it.
  root.tabIndex = -1;
  /** The target of the last press of the pointer; null once a key was pressed. */
  let pointed: EventTarget | null = null;
  let isPressed = false;
  const pressedPointer = (event: PointerEvent) => {
    const path = event.composedPath();
    pointed = path[0];
    isPressed = true;
    // The browser moves the focus on mousedown, which it then does not send.
    if (event.defaultPrevented)
      (focusableIn(path.slice(0, path.indexOf(root))) ?? keys.home()).focus(QUIETLY);
  };
  const released = ({ target }: Event) => {
    // A press on the prompt beside an output moves no focus by itself, as JupyterLab 4 starts to drag the cell.
    const cell = !OWNS_PAGE && !isPressed && element.parentElement?.closest<HTMLElement>("[tabindex]");
    if (
      cell &&
      root.matches(":focus-within") &&
      cell.contains(target as Node) &&
      !element.contains(target as Node)
    )
      cell.focus(QUIETLY);
    // JupyterLab 4 takes the focus on mousedown with Shift in an inactive cell, to select cells.
    const isTaken = !(root.getRootNode() as Document | ShadowRoot).activeElement;
    if (isPressed && (isTaken || root.matches(":focus")) && !isTextSelected()) goHome();
    isPressed = false;
  };
  root.addEventListener("pointerdown", pressedPointer, { signal });
  for (const kind of ["pointerup", "pointercancel"]) window.addEventListener(kind, released, { signal });
  // Chromium drops a text selection if the focus moves while it starts.
  root.addEventListener("focus", () => !isPressed && keys.home() !== root && goHome(), { signal });
  root.addEventListener("keydown", () => (pointed = null), { capture: true, signal });
  // After a choice by the pointer, letters are commands again.
  root.addEventListener("change", ({ target }) => isSelect(target) && target === pointed && goHome(), {
    signal,
  });
  const instead = () => {
    lost.instead();
    // A disabled element keeps the focus until the next frame.
    const { activeElement } = root.getRootNode() as Document | ShadowRoot;
    if (isFocusLost() || activeElement?.matches(":disabled")) goHome();
  };
  keepFocus(root, signal, { ...lost, instead });
  return keys;
}

/** Run keys that are pressed in linked views, such as the tabs of a timeline. */
export function followKeys(link: string, keys: OwnKeys, signal: AbortSignal): void {
  const hear = (message: LinkMessage) => {
    if (message.kind === "key" && keys.press(message.event, "home")) message.event.preventDefault();
  };
  joinLink(link, hear, signal);
}

/** Returns a `press` that lets linked views run the key. */
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
