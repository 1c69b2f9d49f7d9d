/** Results of a search, while nothing is selected: their count, total time and longest ones. */

import type { Actions } from "../../input/actions";
import { annotationsWith } from "../../model/annotations";
import { isolated } from "../../model/format/bidi";
import { formatCount } from "../../model/format/units";
import { searchHint } from "../../model/search/hint";
import { parseQuery } from "../../model/search/query";
import type { Matches } from "../../model/search/search";
import { shownAnnotations } from "../../state/annotations";
import { foundBars } from "../../state/own_tracks";
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
  const noted = annotationsWith(shownAnnotations(store), store.searchText);
  const bars = foundBars(store);
  const all = count + bars.length;
  const hint = searchHint(parseQuery(store.searchText), all > 0, store.drawn);
  const found = `${formatCount(all)} ${all === 1 ? "match" : "matches"}`;
  return (
    <>
      <PanelHeader
        store={store}
        title={all === 0 ? (noted.length ? "No matching event" : "No match") : found}
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
          keep={(sorted) => longest.splice(0, longest.length, ...sorted)}
          visit={(event) => actions.visitEvent(event)}
        />
      )}
    </>
  );
}
