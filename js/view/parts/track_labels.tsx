/** The labels of tracks below the lanes: counters, memory, tensors and bars of the user's own. */

import { formatAmount } from "../../model/format/amounts";
import { isolated } from "../../model/format/bidi";
import { formatBytes, formatCount, formatDuration, formatNumber, formatTime } from "../../model/format/units";
import { meaningOf } from "../../model/glossary";
import type { BarsItem, CounterItem, MemoryItem, TensorsItem } from "../../model/lanes/tracks";
import { counterName, lineIn, valueAt } from "../../model/wire/counters";
import { levelAt } from "../../model/wire/memory";
import type { OwnBars } from "../../model/wire/own_tracks";
import { selectNextBar } from "../../state/own_tracks";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { ESTIMATED, tensorSentence } from "../details/tensor_texts";
import { Depth, FoldLane } from "./fold_lane";
import { HideLane } from "./hide_lane";

/** At most this many bars are listed for screen readers. */
const LISTED = 50;
const TEXT_PX = 56;

const APPROXIMATE =
  "≈: the value at the cursor may be an earlier one, because only the values that draw the line are loaded";

/** A counter: its value at the cursor, and the highest. */
export function CounterLabel({ store, item }: { store: Store; item: CounterItem }) {
  useTopics(store, ["hover"], () => store.cursor);
  const { track, context } = item;
  const { cursor } = store;
  const name = counterName(track);
  const most = formatAmount(track.most, track.unit);
  const line = lineIn(track, cursor ?? -1, cursor ?? -1);
  const here = cursor === null ? Number.NaN : valueAt(line, cursor);
  const range = `${formatAmount(track.least, track.unit)} to ${most}`;
  const unsent = track.unsent ? `${formatNumber(track.unsent, "more counter")} not shown` : "";
  const about = [
    isolated([track.counter, track.series].filter(Boolean).join(" ")),
    range,
    line.reduced && APPROXIMATE,
    unsent,
    meaningOf("counter"),
  ];
  return (
    <div
      class="label memory"
      role="group"
      aria-label={[`Counter ${[context, name].filter(Boolean).map(isolated).join(" ")}`, range, unsent]
        .filter(Boolean)
        .join(", ")}
      style={{ top: `${item.y - store.scroll}px`, height: `${item.height}px` }}
      title={about.filter(Boolean).join("\n")}
    >
      <span class="text">
        {context && <span class="context">{context}</span>}
        <b>{name}</b>
        <small>
          {Number.isNaN(here)
            ? `max ${most}`
            : `${line.reduced ? "≈ " : ""}${formatAmount(here, track.unit)} of max ${most}`}
          {unsent && <em> +{formatNumber(track.unsent!, "counter")}</em>}
        </small>
      </span>
      <span class="tools">
        <HideLane store={store} item={item} called={name} />
      </span>
    </div>
  );
}

/** The memory of an allocator: the bytes allocated at the cursor, and the most. */
export function MemoryLabel({ store, item }: { store: Store; item: MemoryItem }) {
  useTopics(store, ["hover"], () => store.cursor);
  const { track, context } = item;
  const { cursor } = store;
  const isLow = item.height < 30;
  const level = cursor !== null && formatBytes(levelAt(track, cursor));
  return (
    <div
      class="label memory"
      data-low={isLow ? "" : undefined}
      style={{ top: `${item.y - store.scroll}px`, height: `${item.height}px` }}
    >
      <button
        type="button"
        class="text"
        title={`Memory allocated by ${isolated(track.allocator)}\nThe square marks the peak: click to list its contents`}
        onClick={() => store.showMemory({ track, time: track.at })}
      >
        {context && <span class="context">{context}</span>}
        <b>{track.allocator}</b>
        <small class={level ? undefined : "more"}>
          {level}
          {/* Next to a name there is room for one figure. */}
          {!(level && isLow) && (
            <>
              {level && " of "}
              <i aria-hidden="true">■ </i>
              {!level && "peak "}
              {formatBytes(track.peak)}
            </>
          )}
        </small>
      </button>
      <span class="tools">
        <HideLane store={store} item={item} called={track.allocator} />
      </span>
    </div>
  );
}

/** An allocator's tensors; lists the largest for screen readers. */
export function TensorsLabel(props: { store: Store; item: TensorsItem; under: number }) {
  const { store, item, under } = props;
  const { track, context, tensors } = item;
  const called = `${track.allocator} tensors`;
  const top = item.y - store.scroll;
  // The text stays in sight while any of the rows is.
  const shift = Math.min(Math.max(under - top, 0), item.height - TEXT_PX);
  const shown = tensors.rows.flatMap(({ row }) => [...row.ids]);
  const largest = shown.sort((a, b) => track.sizes[b] - track.sizes[a] || a - b).slice(0, LISTED);
  return (
    <div
      class="label memory tensors"
      style={{ top: `${top}px`, height: `${item.height}px`, paddingTop: `${shift}px` }}
    >
      <button
        type="button"
        class="text"
        title={`${track.estimated ? `${ESTIMATED}\n` : ""}Buffers of ${isolated(track.allocator)}, each from its allocation to its free: the larger, the higher\nClick for what it held at its peak`}
        onClick={() => store.showMemory({ track, time: track.at })}
      >
        {context && <span class="context">{context}</span>}
        <b>{called}</b>
        <small>
          {formatNumber(shown.length, "buffer")}
          {track.estimated && ", estimated"}
        </small>
        {tensors.leftOut > 0 && <small>{formatCount(tensors.leftOut)} smaller not shown</small>}
      </button>
      <ul class="visually-hidden" aria-label={`Largest of ${called}`}>
        {largest.map((at) => (
          <li key={at}>{tensorSentence({ track, at })}</li>
        ))}
      </ul>
      <span class="tools">
        <HideLane store={store} item={item} called={called} />
      </span>
    </div>
  );
}

/** A bar in words: its name, its length and its start. */
function barSentence({ names, lengths, starts }: OwnBars, at: number): string {
  const name = names[at] ? `${isolated(names[at])}, ` : "";
  return `${name}${formatDuration(lengths[at])} at ${formatTime(starts[at], 1000)}`;
}

/** A track of the user's own; lists its bars for screen readers. */
export function BarsLabel({ store, item }: { store: Store; item: BarsItem }) {
  const { track } = item;
  const count = formatNumber(track.starts.length, "bar");
  const more = track.starts.length - LISTED;
  return (
    <div
      class="label memory"
      data-low={item.folded ? "" : undefined}
      style={{ top: `${item.y - store.scroll}px`, height: `${item.height}px` }}
    >
      <FoldLane {...{ store, item }} called={isolated(track.name)} top={0} />
      <button
        type="button"
        class="text"
        aria-label={`${isolated(track.name)}, ${count}: select the next one`}
        title={`${isolated(track.name)}: ${count}\nClick to select the next one`}
        onClick={() => selectNextBar(store, track)}
      >
        <b>{track.name}</b>
        <Depth item={item} />
      </button>
      <ul class="visually-hidden" aria-label={`Bars of ${isolated(track.name)}`}>
        {track.starts.slice(0, LISTED).map((_, at) => (
          <li key={at}>{barSentence(track, at)}</li>
        ))}
        {more > 0 && <li>{formatCount(more)} more</li>}
      </ul>
      <span class="tools">
        <HideLane store={store} item={item} called={track.name} />
      </span>
    </div>
  );
}
