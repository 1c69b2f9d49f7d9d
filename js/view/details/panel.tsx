/** The panel at the right: one event, a time range, a search result, or the whole step. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Actions } from "../../input/actions";
import { isolated } from "../../model/format/bidi";
import { isCritical } from "../../state/critical_path";
import { stepBarsShown } from "../../state/step_bars_shown";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { StepBars } from "../../ui/overview_card";
import { hasTabs } from "../sizes";
import { AnnotationEditor } from "./annotation_editor";
import { EventDetails } from "./event";
import { MatchDetails } from "./matches";
import { MemoryDetails } from "./memory";
import { Overview } from "./overview";
import { RangeDetails, SeveralDetails } from "./range";
import { PathDetails } from "./waiting";

interface PanelProps {
  store: Store;
  actions: Actions;
  /** Shown above the facts of an event. */
  before?: ComponentChildren;
}

export function DetailsPanel({ store, actions, before }: PanelProps) {
  useTopics(store, ["selection", "annotations", "details", "panel", "paint", "layout", "search"]);
  const panel = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    // Below the lanes shorter details would give them room, and lanes at their end would move.
    panel.current?.style.setProperty("--least", `${panel.current.offsetHeight}px`);
  });
  if (!store.panelOpen)
    return store.host.pair?.side !== undefined || hasTabs(store.host) ? null : (
      <StepBars bars={stepBarsShown(store)} />
    );
  const { selection, selected, range } = store;
  const { title } = store.drawn;
  const several = selection && "events" in selection && selection.events.length > 1 ? selection.events : null;
  return (
    <aside
      ref={panel}
      class="details"
      data-focus="h2"
      aria-label={title ? `Details of ${isolated(title)}` : "Details"}
    >
      {store.draft && <AnnotationEditor key={store.draft.id} store={store} actions={actions} />}
      {several ? (
        <SeveralDetails store={store} actions={actions} events={several} />
      ) : selected !== null ? (
        <EventDetails store={store} actions={actions} id={selected} before={before} />
      ) : range ? (
        <RangeDetails store={store} actions={actions} range={range} />
      ) : store.moment ? (
        <MemoryDetails store={store} actions={actions} {...store.moment} />
      ) : isCritical(store) && !store.aligned ? (
        <PathDetails store={store} actions={actions} />
      ) : store.matches && !isCritical(store) ? (
        <MatchDetails store={store} actions={actions} matches={store.matches} />
      ) : (
        <Overview store={store} actions={actions} />
      )}
    </aside>
  );
}
