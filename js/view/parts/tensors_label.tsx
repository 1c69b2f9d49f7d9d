/** The label of an allocator's tensors; it lists the largest bars for screen readers. */

import { isolated } from "../../model/format/bidi";
import { formatCount, formatNumber } from "../../model/format/units";
import type { TensorsItem } from "../../model/lanes/tracks";
import type { Store } from "../../state/store";
import { ESTIMATED, tensorSentence } from "../details/tensor_texts";
import { HideLane } from "./hide_lane";

/** At most this many of the largest bars are listed. */
const LISTED = 50;
const TEXT_PX = 56;

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
