/** Announces the selection and the time at the pointer to screen readers. */

import { isolated } from "../../model/format/bidi";
import { formatDuration } from "../../model/format/units";
import { locationOf, nameOf, opOf } from "../../model/lanes/event_text";
import { xAt } from "../../model/viewport";
import { annotationsOf } from "../../state/annotations";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { timeText } from "../../state/wall_clock";
import { isFlipped } from "../canvas/ruler";

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
    <div role="status" aria-live="polite">
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
