/** The label of a counter: its value at the cursor, and the highest. */

import { formatAmount } from "../../model/format/amounts";
import { isolated } from "../../model/format/bidi";
import { meaningOf } from "../../model/glossary";
import type { CounterItem } from "../../model/lanes/tracks";
import { counterName, lineIn, valueAt } from "../../model/wire/counters";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { HideLane } from "./hide_lane";

export function CounterLabel({ store, item }: { store: Store; item: CounterItem }) {
  useTopics(store, ["hover"], () => store.cursor);
  const { track, context } = item;
  const { cursor } = store;
  const name = counterName(track);
  const most = formatAmount(track.most, track.unit);
  const here = cursor === null ? Number.NaN : valueAt(lineIn(track, cursor, cursor), cursor);
  const range = `${formatAmount(track.least, track.unit)} to ${most}`;
  return (
    <div
      class="label memory"
      role="group"
      aria-label={`Counter ${[context, name].filter(Boolean).map(isolated).join(" ")}, ${range}`}
      style={{ top: `${item.y - store.scroll}px`, height: `${item.height}px` }}
      title={`${isolated([track.counter, track.series].filter(Boolean).join(" "))}\n${range}\n${meaningOf("counter")}`}
    >
      <span class="text">
        {context && <span class="context">{context}</span>}
        <b>{name}</b>
        <small>
          {Number.isNaN(here) ? `max ${most}` : `${formatAmount(here, track.unit)} of max ${most}`}
        </small>
      </span>
      <span class="tools">
        <HideLane store={store} item={item} called={name} />
      </span>
    </div>
  );
}
