/** Results of a search, while nothing is selected: their count, total time and longest ones. */

import type { Actions } from "../../input/actions";
import { annotationsWith } from "../../model/annotations";
import { isolated } from "../../model/format/bidi";
import { formatCount } from "../../model/format/units";
import { searchHint } from "../../model/search/hint";
import { parseQuery } from "../../model/search/query";
import type { Matches } from "../../model/search/search";
import { barsWith, ownTracks } from "../../model/wire/own_tracks";
import { shownAnnotations } from "../../state/annotations";
import type { Store } from "../../state/store";
import { AnnotationList } from "./annotation_list";
import { BarList } from "./bar_list";
import { EventTable } from "./event_table";
import { PanelHeader } from "./header";

interface MatchDetailsProps {
  store: Store;
  actions: Actions;
  matches: Matches;
}

export function MatchDetails({ store, actions, matches }: MatchDetailsProps) {
  const { count, total, busy, longest } = matches;
  const hint = searchHint(parseQuery(store.searchText), count > 0);
  const noted = annotationsWith(shownAnnotations(store), store.searchText);
  const bars = barsWith(ownTracks(store.host.get("tracks")).bars, store.searchText);
  const found = `${formatCount(count)} ${count === 1 ? "match" : "matches"}`;
  return (
    <>
      <PanelHeader
        store={store}
        title={count === 0 ? (noted.length + bars.length ? "No matching event" : "No match") : found}
      >
        <p class="searched">{isolated(store.searchText.trim())}</p>
      </PanelHeader>
      <AnnotationList {...{ store, actions }} annotations={noted} />
      <BarList store={store} bars={bars} />
      {hint && <p class="unlinked">{hint}</p>}
      {count > 0 && (
        <EventTable
          {...{ store, total, busy }}
          title="Matches"
          events={longest}
          count={count}
          visit={(event) => actions.visitEvent(event)}
        />
      )}
    </>
  );
}
