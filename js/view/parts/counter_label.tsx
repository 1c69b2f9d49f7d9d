/** The label of a counter: its value at the cursor, and the highest. */

import { formatAmount } from "../../model/format/amounts";
import { isolated } from "../../model/format/bidi";
import { formatNumber } from "../../model/format/units";
import { meaningOf } from "../../model/glossary";
import type { CounterItem } from "../../model/lanes/tracks";
import { counterName, lineIn, valueAt } from "../../model/wire/counters";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { HideLane } from "./hide_lane";

const APPROXIMATE =
  "≈: the value at the cursor may be an earlier one, because only the values that draw the line are loaded";

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
