/** A tensor on its way: from where to where, how many bytes, how long it waited and how long it moved. */

import {
  formatBandwidth,
  formatBytes,
  formatCount,
  formatDuration,
  unbroken,
} from "../../model/format/units";
import { deviceName, kindOf, moves } from "../../model/lanes/event_text";
import { activityColour, waitColour } from "../../model/paint/palette";
import type { Fact } from "../../ui/facts";
import { ScopedText } from "../../ui/scoped_text";
import { EventLink } from "./lists";
import type { EventProps } from "./types";

/** Waiting and moving time, as a bar and in words; a tensor that has arrived may wait for others. */
function WaitSplit({ store, id }: Pick<EventProps, "store" | "id">) {
  const waited = store.drawn.wait?.[id] ?? 0;
  const after = store.drawn.tail?.[id] ?? 0;
  const duration = store.drawn.duration[id];
  const wait = waitColour(store.painting.theme);
  const hatched = (ns: number) => (
    <span
      style={{
        width: `${(100 * ns) / (duration || 1)}%`,
        background: `repeating-linear-gradient(135deg, ${wait} 0 3px, color-mix(in srgb, ${wait} 40%, var(--ground)) 3px 6px)`,
      }}
    />
  );
  const waiting = (ns: number) => ns > 0 && <span>waiting {formatDuration(ns)}</span>;
  return (
    <>
      <div class="split" aria-hidden="true">
        {hatched(waited - after)}
        <span style={{ flex: 1, background: activityColour("communication", store.painting.theme) }} />
        {hatched(after)}
      </div>
      <div class="split-key">
        {waiting(waited - after)}
        <span>
          moving {store.details?.moved(id) ? "about " : ""}
          {formatDuration(duration - waited)}
        </span>
        {waiting(after)}
      </div>
    </>
  );
}

export function TransferCard({ store, id }: EventProps) {
  const { details } = store;
  const kind = kindOf(store.drawn, id);
  // A collective waits for its last rank, if the ranks' traces show it.
  if (kind === "collective" && store.drawn.wait?.[id]) return <WaitSplit store={store} id={id} />;
  const source = details?.source(id);
  const destination = details?.destination(id);
  if (!details || !moves(store.drawn, id) || !(source || destination)) return null;
  const bytes = details.bytes(id);
  return (
    <>
      <div class="route">
        <div>
          <span>{source ? deviceName(source) : "unknown"}</span>
          <span>source</span>
        </div>
        <div class="what">↓ {bytes === null ? "unknown size" : formatBytes(bytes)}</div>
        <div>
          <span>{destination ? deviceName(destination) : "unknown"}</span>
          <span>destination</span>
        </div>
      </div>
      {kind === "transfer" && <WaitSplit store={store} id={id} />}
    </>
  );
}

/** The facts of a transfer or copy, with links to who made the tensor and who used it. */
export function transferFacts({ store, actions, id }: EventProps): Fact[] {
  const { details, drawn } = store;
  const kind = kindOf(store.drawn, id);
  if (!details || !moves(store.drawn, id)) return [];
  const facts: Fact[] = [];
  const bytes = details.bytes(id);
  const duration = drawn.duration[id];
  const moving = duration - (drawn.wait?.[id] ?? 0);
  if (bytes !== null) {
    facts.push(["Bytes", formatCount(bytes)]);
    if (duration > 0) {
      const recorded = `${formatBandwidth((1e9 * bytes) / duration)} as recorded`;
      const effective =
        moving > 0 && moving < duration ? `, ${formatBandwidth((1e9 * bytes) / moving)}\u00a0moving` : "";
      facts.push(["Bandwidth", unbroken(recorded + effective)]);
    }
  }
  const moved = details.moved(id);
  if (moved) {
    facts.push([
      "Moving",
      <>
        {unbroken(`${formatDuration(moved.least)} to ${formatDuration(moved.most)}`)},{" "}
        <small>it arrived together with others</small>
      </>,
    ]);
  }
  const tensor = details.tensor(id);
  if (tensor) facts.push(["Tensor", <ScopedText text={tensor} />]);
  if (kind !== "transfer") return facts;
  const ends = { Producer: details.inputs(id), Consumer: details.consumers(id) };
  for (const [term, edges] of Object.entries(ends)) {
    const events = edges.filter((edge) => edge.kind === "transfer").map((edge) => edge.event);
    if (events.length === 0) facts.push([term, <small>not in this trace</small>]);
    for (const event of events.slice(0, 6)) {
      const gap =
        term === "Producer" ? drawn.start[id] - store.end(event) : drawn.start[event] - store.end(id);
      const when = term === "Producer" ? "ended" : "started";
      const order = gap >= 0 === (term === "Producer") ? "before" : "after";
      const edge = term === "Producer" ? "the start" : "the end";
      facts.push([
        term,
        <>
          <EventLink store={store} actions={actions} id={event} />
          <small>
            {when} {formatDuration(Math.abs(gap))} {order} {edge}
          </small>
        </>,
      ]);
    }
  }
  return facts;
}
