/** A button that opens something over everything else: the browser closes it at Escape and at a click elsewhere. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { moveInMenu } from "./arrow_keys";
import { isFocusLost } from "./kept_focus";
import { useUniqueId } from "./unique_id";

interface PopoverProps {
  /** On the button. */
  text: string;
  /** Name of the button for screen readers, if its text is not enough. */
  label?: string;
  title?: string;
  disabled?: boolean;
  tabIndex?: number;
  /** What opens: entries to choose from, or a form; it is called `name`. */
  kind: "menu" | "dialog";
  name: string;
  /** Below the entries of a menu. */
  below?: ComponentChildren;
  children: (close: () => void) => ComponentChildren;
}

export function Popover({
  text,
  label,
  title,
  disabled,
  tabIndex,
  kind,
  name,
  below,
  children,
}: PopoverProps) {
  const id = useUniqueId();
  const button = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const openings = useRef(0);
  /** What had the focus when it opened: the button, or where a key was pressed that opens it. */
  const before = useRef<Element | null>(null);
  /** A number of its own for each time it is open: whoever opens it again at once is not informed that it closed. */
  const [opening, setOpening] = useState(0);
  const isOpen = opening > 0;
  const close = () => box.current?.hidePopover();
  const root = () => box.current?.getRootNode() as ShadowRoot | Document | undefined;
  const enter = () => {
    if (!isOpen) return;
    const find = (selector: string) => box.current?.querySelector<HTMLElement>(selector);
    (find("[data-first]") ?? find("[role=menuitem], input:checked, button"))?.focus();
  };
  // Before the next key is pressed where a key has opened it; a click shows it after it was rendered.
  useLayoutEffect(enter, [opening]);
  useEffect(() => {
    if (!isOpen) return;
    // This runs after the next frame: somebody may have gone on to another part of it by then.
    if (!box.current?.contains(root()?.activeElement ?? null)) enter();
    // It would keep its position while its button moves away.
    const listening = new AbortController();
    const options = { capture: true, signal: listening.signal };
    const scrolled = (event: Event) => {
      if (!event.composedPath().includes(box.current as EventTarget)) close();
    };
    document.addEventListener("scroll", scrolled, options);
    root()?.addEventListener("scroll", scrolled, options);
    window.addEventListener("resize", close, options);
    return () => listening.abort();
  }, [opening]);
  const placed = (event: { newState: string }) => {
    const opens = event.newState === "open";
    if (!opens) return;
    before.current = root()?.activeElement ?? null;
    if (button.current && box.current) place(box.current, button.current.getBoundingClientRect());
    setOpening(++openings.current);
  };
  // Browsers give the focus back to what had it in the page, but not to what had it in a shadow root.
  const closed = (event: { newState: string }) => {
    if (event.newState !== "closed") return;
    if (isFocusLost() || box.current?.contains(root()?.activeElement ?? null)) {
      const { current } = before;
      const isThere = current instanceof HTMLElement && current !== document.body && current.isConnected;
      (isThere ? current : button.current)?.focus({ preventScroll: true });
    }
    setOpening(0);
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class="order"
        popovertarget={id}
        aria-haspopup={kind}
        aria-expanded={isOpen}
        aria-label={label}
        {...{ title, disabled, tabIndex }}
      >
        {text} <span aria-hidden="true">▾</span>
      </button>
      <div
        ref={box}
        id={id}
        popover="auto"
        class="popover"
        tabIndex={-1}
        onBeforeToggle={placed}
        onToggle={closed}
      >
        {isOpen && kind === "menu" && (
          <div key={opening} role="menu" aria-label={name} tabIndex={-1} onKeyDown={moveInMenu}>
            {children(close)}
          </div>
        )}
        {isOpen && below}
        {isOpen && kind === "dialog" && (
          <div key={opening} role="dialog" aria-label={name} tabIndex={-1}>
            {children(close)}
          </div>
        )}
      </div>
    </>
  );
}

/** Below the button, or above it if there is more room. Its own size is not known yet. */
function place(box: HTMLElement, anchor: DOMRect): void {
  const below = innerHeight - anchor.bottom;
  const isBelow = below > 260 || below >= anchor.top;
  const toLeft = anchor.right > 330 || anchor.right > innerWidth / 2;
  Object.assign(box.style, {
    top: isBelow ? `${anchor.bottom + 4}px` : "auto",
    bottom: isBelow ? "auto" : `${innerHeight - anchor.top + 4}px`,
    right: toLeft ? `${Math.max(innerWidth - anchor.right, 4)}px` : "auto",
    left: toLeft ? "auto" : `${Math.max(anchor.left, 4)}px`,
    maxHeight: `${Math.max(isBelow ? below : anchor.top, 120) - 12}px`,
  });
}
