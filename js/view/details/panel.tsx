/** The panel at the right: one event, a range of time, or the whole step when nothing is selected. */

import type { Commands } from "../../input/commands";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { EventDetails } from "./event";
import { MemoryDetails } from "./memory";
import { Overview, RangeDetails, SeveralDetails } from "./range";

export function DetailsPanel({ store, commands }: { store: Store; commands: Commands }) {
  useTopics(store, ["selection", "details", "panel", "paint", "layout", "search"]);
  if (!store.panelOpen) return null;
  const { selection, selected, range } = store;
  const several = selection && "events" in selection && selection.events.length > 1 ? selection.events : null;
  return (
    <aside class="details" aria-label="Details">
      {several ? (
        <SeveralDetails store={store} commands={commands} events={several} />
      ) : selected !== null ? (
        <EventDetails store={store} commands={commands} id={selected} />
      ) : range ? (
        <RangeDetails store={store} commands={commands} range={range} />
      ) : store.moment ? (
        <MemoryDetails store={store} commands={commands} {...store.moment} />
      ) : (
        <Overview store={store} commands={commands} />
      )}
    </aside>
  );
}
