/** Every key and gesture, in one overlay that keeps the focus until it is closed. */

import { useEffect, useRef } from "preact/hooks";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";

const SECTIONS: [string, [string, string][]][] = [
  [
    "Move",
    [
      ["W S", "zoom in and out; Shift is faster"],
      ["A D", "left and right"],
      ["Ctrl wheel, pinch", "zoom at the pointer"],
      ["Shift wheel", "left and right"],
      ["Shift drag", "move the picture"],
      ["Alt drag", "zoom to the dragged part"],
      ["drag the ruler", "zoom to the dragged time"],
      ["drag the overview", "choose the part in view"],
      ["+ −", "zoom by one notch"],
      ["0, Home", "everything"],
      ["Backspace", "back to the view before; Shift forward"],
      ["Page up, down", "scroll the lanes"],
    ],
  ],
  [
    "Select",
    [
      ["click", "an event; Ctrl adds another"],
      ["click an idle device", "the gap, and why it is there"],
      ["drag", "a range; its edges stick to events, Alt lets go"],
      ["double click", "zoom to an event, or to everything"],
      ["F, Enter", "zoom to what is selected"],
      ["← →", "event before and after in the lane"],
      ["↑ ↓", "lane above and below"],
      ["[ ]", "to what fed it, to what it fed"],
      ["Esc", "clear search, selection, marks"],
    ],
  ],
  [
    "Find and measure",
    [
      ["/", "search; Enter next, Shift Enter before"],
      ["N", "next match; Shift N before"],
      ["C", "the critical path: what the step waited for"],
      ["M", "mark what is selected; Shift M keeps it"],
      ["op: name: lane: kind:", "look only there, as in op:MatMul"],
      ["is:critical", "only what is on the critical path"],
      [">5ms  <10us", "longer, shorter"],
      ["?", "this overlay"],
    ],
  ],
  [
    "Lanes and steps",
    [
      ["point at a label", "pin the lane to the top, or hide it"],
      ["Filter lanes", "show only some: worker 1 copy"],
      ["click a group", "fold it; its activity stays visible"],
      ["Steps", "click a bar for one step; all, or aligned"],
      ["orange, violet bars", "longer than usual; more work on the GPU"],
    ],
  ],
];

export function Help({ store }: { store: Store }) {
  useTopics(store, ["panel"]);
  const close = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!store.helpOpen) return;
    const root = close.current?.getRootNode();
    if (!(root instanceof ShadowRoot)) return;
    const before = root.activeElement;
    // Nothing behind the overlay can be reached until it is closed.
    const behind = root.querySelectorAll<HTMLElement>(".toolbar, .body, .status");
    for (const part of behind) part.inert = true;
    close.current?.focus();
    return () => {
      for (const part of behind) part.inert = false;
      if (before instanceof HTMLElement) before.focus();
    };
  }, [store.helpOpen]);
  if (!store.helpOpen) return null;
  const shut = () => store.setPanel({ helpOpen: false });
  return (
    <>
      <button type="button" class="help-shade" aria-label="Close the help" tabIndex={-1} onClick={shut} />
      <div class="help" role="dialog" aria-modal="true" aria-labelledby="tfv-help">
        <header>
          <h2 id="tfv-help">Keys and gestures</h2>
          <button type="button" ref={close} onClick={shut}>
            Close
          </button>
        </header>
        <div class="columns">
          {SECTIONS.map(([title, rows]) => (
            <section key={title}>
              <h3>{title}</h3>
              <dl>
                {rows.map(([keys, action]) => (
                  <>
                    <dt>{keys}</dt>
                    <dd>{action}</dd>
                  </>
                ))}
              </dl>
            </section>
          ))}
        </div>
      </div>
    </>
  );
}
