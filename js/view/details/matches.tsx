/** Results of a search, while nothing is selected: their count, total time and longest ones. */

import type { Actions } from "../../input/actions";
import { isolated, withoutControls } from "../../model/format/bidi";
import { formatCount, formatDuration } from "../../model/format/units";
import { shortName } from "../../model/lanes/event_text";
import { laneLabel } from "../../model/lanes/labels";
import type { Matches } from "../../model/search/search";
import type { Store } from "../../state/store";
import { PanelHeader } from "./header";

interface MatchDetailsProps {
  store: Store;
  actions: Actions;
  matches: Matches;
}

export function MatchDetails({ store, actions, matches }: MatchDetailsProps) {
  const { ids, total, longest } = matches;
  const found = `${formatCount(ids.length)} ${ids.length === 1 ? "match" : "matches"}`;
  const title = ids.length === 0 ? "No match" : found;
  return (
    <>
      <PanelHeader store={store} title={title} />
      <dl>
        <dt>Search</dt>
        <dd>{isolated(store.searchText.trim())}</dd>
        {ids.length > 0 && (
          <>
            <dt>Total</dt>
            <dd title="Sum of the durations of all matches">{formatDuration(total)}</dd>
            <dt>Mean</dt>
            <dd>{formatDuration(total / ids.length)}</dd>
          </>
        )}
      </dl>
      {longest.length > 0 && (
        <section>
          <h3>{longest.length < ids.length ? `Longest ${formatCount(longest.length)}` : "Longest first"}</h3>
          <ul class="links">
            {longest.map(({ event, name, op, lane, duration }) => (
              <li key={event}>
                <button
                  type="button"
                  class="link"
                  title={isolated(name)}
                  onClick={() => actions.visitEvent(event)}
                >
                  <b>{withoutControls(shortName(name || op)) || "(none)"}</b>{" "}
                  <small>
                    {formatDuration(duration)} on {isolated(laneLabel(store.drawn.lanes[lane]))}
                  </small>
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
