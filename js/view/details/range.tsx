/** Several selected events, or a selected time range, whose events are in a table below the lanes. */

import type { Actions } from "../../input/actions";
import { formatAmount } from "../../model/format/amounts";
import { isolated } from "../../model/format/bidi";
import { formatCount, formatDuration, formatTime } from "../../model/format/units";
import { nameOf, opOf } from "../../model/lanes/event_text";
import { commonLocation, locationLabel } from "../../model/lanes/labels";
import { busyTime } from "../../model/search/busy_time";
import type { RangeStatistics } from "../../model/search/range_statistics";
import { counterFigures, counterName } from "../../model/wire/counters";
import { type OwnBar, ownTracks } from "../../model/wire/own_tracks";
import { annotationsOf } from "../../state/annotations";
import { selectedBar } from "../../state/own_tracks";
import type { Store } from "../../state/store";
import { type Fact, Facts } from "../../ui/facts";
import { sortRows } from "../../ui/sort";
import { AnnotateButton, AnnotationList } from "./annotation_list";
import { EventTable } from "./event_table";
import { PanelHeader } from "./header";
import { Busy, type Range, UNKNOWN, useStatistics } from "./range_totals";
import { WaitingSummary } from "./waiting";

const MAX_ROWS = 200;

export function SeveralDetails({
  store,
  actions,
  events,
}: {
  store: Store;
  actions: Actions;
  events: readonly number[];
}) {
  const { drawn, selectedOf } = store;
  const of = selectedOf > events.length ? ` of ${formatCount(selectedOf)}` : "";
  const found = events.map((id) => ({
    event: id,
    name: nameOf(drawn, id),
    op: opOf(drawn, id),
    lane: drawn.lane[id],
    duration: drawn.duration[id],
  }));
  const longest = sortRows(found, false, ({ duration }) => duration).slice(0, MAX_ROWS);
  return (
    <>
      <PanelHeader store={store} title={`${formatCount(events.length)}${of} events selected`} />
      <div class="below-title">
        <FlowsButton store={store} />
      </div>
      <EventTable
        store={store}
        title="Selected events"
        events={longest}
        count={events.length}
        total={found.reduce((sum, { duration }) => sum + duration, 0)}
        busy={busyTime(
          drawn,
          [...events].sort((a, b) => drawn.start[a] - drawn.start[b]),
        )}
        visit={(id) => actions.visit(id)}
      />
    </>
  );
}

/** Draws or hides the arrows of all selected events; those of a range in the kernel are not known. */
function FlowsButton({ store }: { store: Store }) {
  const { flowsOpen, run, range, details } = store;
  if (!details || (run.rest && range)) return null;
  return (
    <button
      type="button"
      aria-pressed={flowsOpen}
      title="Of the first 300 events"
      onClick={() => store.setPanel({ flowsOpen: !flowsOpen })}
    >
      Arrows
    </button>
  );
}

function barFacts({ track, at }: OwnBar): Fact[] {
  return [
    ["Own track", isolated(track.name)],
    ["Start", formatTime(track.starts[at], 1)],
    ["Duration", formatDuration(track.lengths[at])],
  ];
}

export function RangeDetails({ store, actions, range }: { store: Store; actions: Actions; range: Range }) {
  const answer = useStatistics(store, range);
  const length = range.end - range.start;
  const bar = selectedBar(store);
  const where = range.lanes ? commonLocation(range.lanes.map((lane) => store.drawn.lanes[lane])) : "";
  return (
    <>
      <PanelHeader
        store={store}
        title={
          bar ? isolated(bar.track.names[bar.at] || bar.track.name) : `${formatDuration(length)} selected`
        }
      />
      <div class="below-title">
        <span class="buttons">
          <AnnotateButton actions={actions} />
          <FlowsButton store={store} />
          {answer?.count !== 0 && (
            <button
              type="button"
              aria-pressed={store.tableOpen && !store.codeOpen}
              onClick={() =>
                store.setPanel({ tableOpen: !store.tableOpen || store.codeOpen, codeOpen: false })
              }
            >
              Table
            </button>
          )}
        </span>
      </div>
      <AnnotationList {...{ store, actions }} annotations={annotationsOf(store, range)} />
      <Facts
        facts={[
          ...(bar ? barFacts(bar) : []),
          where !== "" && ["On", isolated(where)],
          ["Events", answer ? formatCount(answer.count) : UNKNOWN],
          [
            "Any lane busy",
            <Busy answer={answer} length={length} of=" of the range" />,
            `Time in which at least one of these events ran: an op and its kernels count once. All durations add up to ${answer ? formatDuration(answer.total) : UNKNOWN}.`,
          ],
        ]}
      />
      <CounterTable store={store} range={range} answer={answer} />
      <WaitingSummary store={store} actions={actions} {...range} isOne />
    </>
  );
}

interface CounterTableProps {
  store: Store;
  range: Range;
  /** Null while it is asked for. */
  answer: RangeStatistics | null;
}

const MOST_ROWS = 30;
const MEAN = "Weighted by time";

function CounterTable({ store, range, answer }: CounterTableProps) {
  const { start, end, lanes } = range;
  const chosen = lanes && new Set(lanes.map((lane) => placeOf(store.drawn.lanes[lane])));
  const own = ownTracks(store.host.get("tracks")).counters;
  const rows = [...store.counters, ...own].flatMap((track, number) => {
    if (chosen && !chosen.has(placeOf(track))) return [];
    const known = number < store.counters.length ? answer?.counters : undefined;
    const figures = known ? known[number] : counterFigures(track, start, end);
    return figures ? [{ track, figures }] : [];
  });
  if (rows.length === 0 || store.aligned) return null;
  const several = new Set(rows.map(({ track }) => placeOf(track))).size > 1;
  return (
    <>
      <h3>Counters</h3>
      <table class="full counters" aria-label="Counters">
        <thead>
          <tr>
            <th scope="col">Min</th>
            <th scope="col" title={MEAN}>
              Mean
            </th>
            <th scope="col">Max</th>
          </tr>
        </thead>
        {rows.slice(0, MOST_ROWS).map(({ track, figures }) => (
          <tbody key={`${placeOf(track)}\0${track.counter}\0${track.series}`}>
            <tr>
              <th scope="rowgroup" colSpan={3} title={isolated(counterName(track))}>
                {isolated(counterName(track))}
                {several && <small> {locationLabel(track.task, track.device)}</small>}
              </th>
            </tr>
            <tr>
              <td>{formatAmount(figures.least, track.unit)}</td>
              <td>
                {track.reduced && !answer?.counters && "≈ "}
                {formatAmount(figures.mean, track.unit)}
              </td>
              <td>{formatAmount(figures.most, track.unit)}</td>
            </tr>
          </tbody>
        ))}
      </table>
      {rows.length > MOST_ROWS && <p class="unlinked">{formatCount(rows.length - MOST_ROWS)} more</p>}
    </>
  );
}

const placeOf = ({ task, device }: { task: string; device: string }) => `${task}\0${device}`;
