/** The panel at the right: one event, a time range, a search result, or the whole step. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Actions } from "../../input/actions";
import { annotationsWith } from "../../model/annotations";
import { isolated } from "../../model/format/bidi";
import { formatBytes, formatCount, formatDuration, formatNumber, formatTime } from "../../model/format/units";
import { NO_NAME } from "../../model/lanes/labels";
import { searchHint } from "../../model/search/hint";
import { parseQuery } from "../../model/search/query";
import type { Matches } from "../../model/search/search";
import { aliveAt, levelAt, type Moment } from "../../model/wire/memory";
import type { OwnBar } from "../../model/wire/own_tracks";
import { shownAnnotations } from "../../state/annotations";
import { isCritical } from "../../state/critical_path";
import { foundBars, selectBar } from "../../state/own_tracks";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { Facts } from "../../ui/facts";
import { StepBars } from "../../ui/overview_card";
import { ScopedText } from "../../ui/scoped_text";
import { hasTabs } from "../sizes";
import { AnnotationEditor } from "./annotation_editor";
import { AnnotationList } from "./annotation_list";
import { EventDetails } from "./event";
import { EventTable } from "./event_table";
import { PanelHeader } from "./header";
import { Overview, stepBarsShown } from "./overview";
import { RangeDetails, SeveralDetails } from "./range";
import { sizeText } from "./tensor_texts";
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
  // Below the lanes shorter details would give them room, and lanes at their end would move. Read before the change,
  // while nothing has to be laid out for it.
  panel.current?.style.setProperty("--least", `${panel.current.offsetHeight}px`);
  useLayoutEffect(
    () => panel.current?.scrollTo(0, 0),
    [store.host.get("selection"), store.moment, store.step, store.matches],
  );
  useEffect(() => {
    const title = panel.current?.querySelector("h2");
    if (OWNS_PAGE || store.selection === null || !title) return;
    // The notebook keeps its place, so below the lanes they may open out of sight.
    const seen = new IntersectionObserver(([entry]) => {
      seen.disconnect();
      const isBelow = !entry.isIntersecting && entry.boundingClientRect.top > innerHeight / 2;
      if (isBelow) actions.surroundings.hint("Details are below ↓");
    });
    seen.observe(title);
    return () => seen.disconnect();
  }, [store.host.get("selection")]);
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

interface MatchDetailsProps {
  store: Store;
  actions: Actions;
  matches: Matches;
}

function MatchDetails({ store, actions, matches }: MatchDetailsProps) {
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

interface MemoryProps extends Moment {
  store: Store;
  actions: Actions;
}

const MAX_BUFFERS = 20;

function MemoryDetails({ store, actions, track, time }: MemoryProps) {
  const { sizes, events } = track;
  const alive = aliveAt(track, time);
  const level = levelAt(track, time);
  const others = alive.slice(0, MAX_BUFFERS).reduce((rest, buffer) => rest - sizes[buffer], level);
  return (
    <>
      <PanelHeader store={store} title={track.allocator} />
      <Facts
        facts={[
          [
            track.estimated ? "Estimated" : "Allocated",
            <>
              {formatBytes(level)} <small>of {formatBytes(track.peak)} at the peak</small>
            </>,
          ],
          ["At", formatTime(time, 1)],
        ]}
      />
      <h3>{formatNumber(alive.length, "buffer")}</h3>
      <ul class="links">
        {alive.slice(0, MAX_BUFFERS).map((buffer) => (
          <li key={buffer}>
            <button
              type="button"
              class="link"
              disabled={!events[buffer]}
              onClick={() => actions.visitEvent(events[buffer] - 1)}
            >
              <b>
                <ScopedText text={track.name(buffer) || NO_NAME} />
              </b>{" "}
              <small>{sizeText({ track, at: buffer })}</small>
            </button>
          </li>
        ))}
      </ul>
      {others > 0 && (
        <p class="unlinked" title="Smaller buffers, and variables from before the recording">
          {formatBytes(others)} in other buffers
        </p>
      )}
    </>
  );
}

const MOST = 30;

function BarList({ store, bars }: { store: Store; bars: readonly OwnBar[] }) {
  if (!bars.length) return null;
  return (
    <section aria-label="Own bars">
      <h3>Own bars ({formatCount(bars.length)})</h3>
      <ul class="links">
        {bars.slice(0, MOST).map(({ track, at }) => (
          <li key={`${track.name}\0${at}`}>
            <button type="button" class="link" onClick={() => selectBar(store, track, at)}>
              <b>{isolated(track.names[at] || track.name)}</b>{" "}
              <small>
                {formatDuration(track.lengths[at])} at {formatTime(track.starts[at], 1000)}
              </small>
            </button>
          </li>
        ))}
      </ul>
      {bars.length > MOST && <p class="unlinked">{formatCount(bars.length - MOST)} more</p>}
    </section>
  );
}
