/** A pane below the lanes, as high as its upper edge is dragged. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { bindSize } from "../../ui/resize_handle";

const LEAST_HEIGHT_PX = 140;

interface LowerPaneProps {
  title: string;
  /** Its class besides "pane". */
  name: string;
  close: () => void;
  /** Between the title and the button that closes it. */
  header: ComponentChildren;
  children: (pane: HTMLElement | null) => ComponentChildren;
}

export function LowerPane({ title, name, close, header, children }: LowerPaneProps) {
  const [pane, setPane] = useState<HTMLElement | null>(null);
  const splitter = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Effects run after a paint, by which a cell that is run again may have taken the pane away.
    if (!pane?.isConnected) return;
    // In a notebook, and below two compared timelines, it may have opened out of sight.
    const scrollBack = scrollTo(pane);
    const unbind = bindHeight(pane, splitter.current!);
    return () => {
      unbind();
      scrollBack();
    };
  }, [pane]);
  return (
    <section class={`pane ${name}`} aria-label={title} ref={setPane}>
      <div
        ref={splitter}
        class="splitter pane-splitter"
        role="separator"
        aria-orientation="horizontal"
        aria-label={`Height of the ${title.toLowerCase()}`}
        aria-valuenow={0}
        tabIndex={0}
      />
      <header>
        <h2>{title}</h2>
        {header}
        <button type="button" class="close" aria-label={`Close the ${title.toLowerCase()}`} onClick={close}>
          ×
        </button>
      </header>
      {children(pane)}
    </section>
  );
}

/**
 * Scrolls to a pane. Returns a function that scrolls back unless the user has scrolled since. Neither scrolls under a
 * pointer: it would lose the lanes or the control that it is over.
 */
function scrollTo(pane: HTMLElement): () => void {
  const root = pane.closest(".tfv")!;
  // Chromium 156 can lose the hover of the element around the pointed one after a drag.
  const isPointedAt = () => root.querySelector(":hover") !== null;
  const before = new Map<Element, number>();
  for (let at: Node | null = pane; at; at = at instanceof ShadowRoot ? at.host : at.parentNode)
    if (at instanceof Element) before.set(at, at.scrollTop);
  if (!isPointedAt()) pane.scrollIntoView({ block: "nearest" });
  const after = [...before.keys()].map((at) => [at, at.scrollTop] as const);
  return () => {
    if (isPointedAt()) return;
    // Without the pane there may be less to scroll.
    for (const [at, top] of after)
      if (at.scrollTop === Math.min(top, at.scrollHeight - at.clientHeight)) at.scrollTop = before.get(at)!;
  };
}

function bindHeight(pane: HTMLElement, splitter: HTMLElement): () => void {
  const bound = new AbortController();
  const read = () => pane.offsetHeight;
  const write = (height: number) => pane.style.setProperty("--pane", `${height}px`);
  const most = () => (pane.closest(".body")?.clientHeight ?? 600) * 0.8;
  bindSize(splitter, { axis: "y", direction: -1, least: LEAST_HEIGHT_PX, most, read, write }, bound.signal);
  return () => bound.abort();
}
