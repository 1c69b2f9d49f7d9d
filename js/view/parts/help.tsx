/** Every key and gesture, in one overlay that keeps the focus until it is closed. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { SECTIONS } from "../../input/commands";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { Facts } from "../../ui/facts";

export function Help({ store }: { store: Store }) {
  useTopics(store, ["panel"]);
  const close = useRef<HTMLButtonElement>(null);
  const place = useRef<HTMLDivElement>(null);
  // At once: the next key must not move the focus behind it.
  useLayoutEffect(() => {
    if (!store.helpOpen) return;
    const root = close.current?.getRootNode();
    if (!(root instanceof ShadowRoot)) return;
    const before = focused();
    // Nothing behind the overlay can be reached until it is closed.
    place.current?.showPopover();
    const behind = root.querySelectorAll<HTMLElement>(".toolbar, .body, .status");
    for (const part of behind) part.inert = true;
    close.current?.focus();
    return () => {
      for (const part of behind) part.inert = false;
      before?.focus();
    };
  }, [store.helpOpen]);
  if (!store.helpOpen) return null;
  const shut = () => store.setPanel({ helpOpen: false });
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape" || event.key === "?") shut();
    // Its button is all that can have the focus.
    else if (event.key !== "Tab") return;
    event.preventDefault();
  };
  return (
    // Over the whole window: a low timeline would cut it.
    <div class="help-place" ref={place} popover="manual">
      <button type="button" class="help-shade" aria-label="Close the help" tabIndex={-1} onClick={shut} />
      <div
        class="help"
        role="dialog"
        aria-modal="true"
        aria-labelledby="tfv-help"
        tabIndex={-1}
        onKeyDown={press}
      >
        <div class="head">
          <h2 id="tfv-help">Keys and gestures</h2>
          <button type="button" ref={close} onClick={shut}>
            Close
          </button>
        </div>
        <div class="columns">
          {SECTIONS.map(({ title, commands }) => (
            <section key={title}>
              <h3>{title}</h3>
              <Facts facts={commands.map(({ keys, label }) => [keys, label])} />
            </section>
          ))}
        </div>
      </div>
    </div>
  );
}

/** The focused element, in any view of the page. */
function focused(): HTMLElement | null {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return at instanceof HTMLElement ? at : null;
}
