/** The label of a track of the user's own; it lists its bars for screen readers. */

import { isolated } from "../../model/format/bidi";
import { formatCount, formatDuration, formatNumber, formatTime } from "../../model/format/units";
import type { BarsItem } from "../../model/lanes/tracks";
import type { OwnBars } from "../../model/wire/own_tracks";
import { selectNextBar } from "../../state/own_tracks";
import type { Store } from "../../state/store";
import { Depth, FoldLane } from "./fold_lane";
import { HideLane } from "./hide_lane";

/** At most this many bars are listed. */
const LISTED = 50;

/** A bar in words: its name, its length and its start. */
export function barSentence({ names, lengths, starts }: OwnBars, at: number): string {
  const name = names[at] ? `${isolated(names[at])}, ` : "";
  return `${name}${formatDuration(lengths[at])} at ${formatTime(starts[at], 1000)}`;
}

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
