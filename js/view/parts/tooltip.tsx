/** What is under the pointer, in short. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { isolated } from "../../model/format/bidi";
import { formatBytes, formatCount, formatDuration, formatTime } from "../../model/format/units";
import { categoryOf, deviceName, locationOf, nameOf, opOf } from "../../model/lanes/event_text";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { ScopedText } from "../../ui/scoped_text";

export function Tooltip({ store, main }: { store: Store; main: HTMLElement }) {
  useTopics(store, ["hover"]);
  const box = useRef<HTMLDivElement>(null);
  const { hover } = store;
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !hover) return;
    // Beside the pointer, on the side with room, never over the edge of the timeline.
    const left = main.clientWidth - store.width + hover.x;
    const top = 60 + hover.y;
    const flipX = left + 16 + element.offsetWidth > main.clientWidth - 8;
    const flipY = top + 18 + element.offsetHeight > main.clientHeight - 4;
    const x = flipX ? Math.max(4, left - 12 - element.offsetWidth) : left + 14;
    const y = flipY ? Math.max(4, top - 12 - element.offsetHeight) : top + 16;
    element.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
  });
  if (!hover) return null;
  const { id } = hover;
  const { details, drawn } = store;
  const bytes = details?.bytes(id) ?? null;
  const source = details?.source(id);
  const destination = details?.destination(id);
  const waited = drawn.wait?.[id] ?? 0;
  const name = nameOf(store.drawn, id);
  return (
    <div class="tooltip" ref={box} aria-hidden="true">
      <b>
        <ScopedText
          text={name.length > 160 ? `${name.slice(0, 80)} … ${name.slice(-76)}` : name || "(no name)"}
        />
      </b>
      <p>
        <strong>{formatDuration(drawn.duration[id])}</strong>{" "}
        {isolated(opOf(store.drawn, id) || categoryOf(store.drawn, id))} at{" "}
        {formatTime(drawn.start[id], 1000)}
      </p>
      {waited > 0 && (
        <p>
          waiting {formatDuration(waited)}, moving {formatDuration(drawn.duration[id] - waited)}
        </p>
      )}
      {source || destination ? (
        <p>
          {source ? deviceName(source) : "?"} → {destination ? deviceName(destination) : "?"}
          {bytes !== null && `, ${formatBytes(bytes)}`}
        </p>
      ) : (
        <p>{locationOf(store.drawn, id)}</p>
      )}
      {hover.count > 1 && (
        <p>
          {HAS_KERNEL && drawn.merged
            ? `the longest of ${formatCount(hover.count)} events; zoom in`
            : `and ${formatCount(hover.count - 1)} more in this pixel; zoom in to separate them`}
        </p>
      )}
    </div>
  );
}
