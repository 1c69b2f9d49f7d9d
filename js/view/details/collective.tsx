/** A collective of several ranks: which of them came last, so that the others waited for it. */

import { formatDuration } from "../../model/format/units";
import { kindOf, taskName } from "../../model/lanes/event_text";
import type { Store } from "../../state/store";
import { EventLink } from "./lists";
import type { EventProps, Fact } from "./types";

export function arrivalFacts({ store, actions, id }: EventProps): Fact[] {
  const { details, drawn } = store;
  const last = details?.last(id) ?? null;
  const spread = details?.spread(id) ?? null;
  if (last === null || spread === null || spread === 0) return [];
  const after = `${formatDuration(spread)} after the first`;
  if (last === drawn.lanes[drawn.lane[id]].task) {
    return [{ term: "Last rank", value: `this one, ${after}: the others waited for it` }];
  }
  const event = lastArrived(store, id, last);
  return [
    {
      term: "Waited for",
      value: (
        <>
          {event === null ? taskName(last) : <EventLink store={store} actions={actions} id={event} />}{" "}
          <small>
            {taskName(last)} came last, {after}
          </small>
        </>
      ),
    },
  ];
}

/** The row of the same collective on the last rank; null if it is not loaded. */
function lastArrived(store: Store, id: number, task: string): number | null {
  if (HAS_KERNEL && store.remote) return null;
  const { drawn } = store;
  const kind = kindOf(store.drawn, id);
  const isIt = (other: number) =>
    drawn.lanes[drawn.lane[other]].task === task &&
    kindOf(store.drawn, other) === kind &&
    // For a node in a loop, the execution at that time.
    drawn.start[other] <= store.end(id) &&
    store.end(other) >= drawn.start[id];
  return store.derived.sameName(id).find(isIt) ?? null;
}
