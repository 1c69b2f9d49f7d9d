/** The label of an allocator's memory: how much was allocated at the cursor, and at most. */

import { isolated } from "../../model/format/bidi";
import { formatBytes } from "../../model/format/units";
import type { MemoryItem } from "../../model/lanes/tracks";
import { levelAt } from "../../model/wire/memory";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { HideLane } from "./hide_lane";

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
        title={`Memory allocated by ${isolated(track.allocator)}\nThe square marks the peak: click for what it held then`}
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
