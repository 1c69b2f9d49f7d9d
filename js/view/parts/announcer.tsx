/** Announces the selection and the time at the pointer to screen readers. */

import { useEffect, useRef, useState } from "preact/hooks";
import { isolated } from "../../model/format/bidi";
import { formatDuration } from "../../model/format/units";
import { locationOf, nameOf, opOf } from "../../model/lanes/event_text";
import { xAt } from "../../model/viewport";
import { annotationsOf } from "../../state/annotations";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { timeText } from "../../state/wall_clock";
import { isFlipped } from "../canvas/ruler";

/** As long as keys come closer together, they move on. */
const PAUSE_MS = 600;

export function Announcer({ store }: { store: Store }) {
  useTopics(store, ["selection", "annotations"]);
  const { selected, range } = store;
  let text = "";
  if (selected !== null)
    text = `${isolated(nameOf(store.drawn, selected))}, ${isolated(opOf(store.drawn, selected))}, ${formatDuration(store.drawn.duration[selected])}, on ${locationOf(store.drawn, selected)}`;
  else if (range) text = `${formatDuration(range.end - range.start)} selected`;
  const selection = store.host.get("selection");
  const notes = selection ? annotationsOf(store, selection) : [];
  if (text && notes.length) text += `; annotated ${notes.map(({ name }) => isolated(name)).join(", ")}`;
  const mark = store.marks.at(-1);
  if (mark) text += `; marked ${formatDuration(mark.end - mark.start)}`;
  return (
    <>
      <ViewAnnouncer store={store} />
      <div role="status" aria-live="polite">
        {text}
      </div>
    </>
  );
}

/** The times in view, once keys have stopped moving them: the lanes are a picture. */
function ViewAnnouncer({ store }: { store: Store }) {
  const box = useRef<HTMLDivElement>(null);
  const [text, setText] = useState("");
  useEffect(() => {
    let timer = 0;
    let chosen = Number.NEGATIVE_INFINITY;
    const tell = () => {
      const root = box.current?.getRootNode() as ShadowRoot | undefined;
      if (!root?.activeElement?.matches("[role=application]")) return;
      const { start, end } = store.viewport;
      setText(`In view: ${[start, end].map((ns) => timeText(store, ns, (end - start) / 1000)).join(" to ")}`);
    };
    store.on(["selection"], () => {
      chosen = performance.now();
    });
    store.on(["viewport"], () => {
      clearTimeout(timer);
      // A selection that is brought into view is announced itself.
      if (performance.now() - chosen > PAUSE_MS) timer = setTimeout(tell, PAUSE_MS) as unknown as number;
    });
    store.signal.addEventListener("abort", () => clearTimeout(timer));
  }, []);
  return (
    <div ref={box} aria-live="polite">
      {text}
    </div>
  );
}

export function CursorTime({ store }: { store: Store }) {
  useTopics(
    store,
    ["hover", "viewport"],
    () => `${store.cursor} ${store.isWallClock} ${store.viewport.start} ${store.viewport.end}`,
  );
  const { cursor, viewport, width } = store;
  if (cursor === null) return null;
  const x = xAt(viewport, cursor, width);
  const resolution = (viewport.end - viewport.start) / Math.max(width, 1);
  const shift = isFlipped(store, x, width) ? "-100%" : "0";
  return (
    <div
      class="cursor-time"
      aria-hidden="true"
      style={{ transform: `translateX(${Math.round(x)}px) translateX(${shift})` }}
    >
      {timeText(store, cursor, resolution)}
    </div>
  );
}
