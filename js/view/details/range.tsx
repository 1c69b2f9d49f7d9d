/** Totals of a time range by op or by name, sortable. */

import type { Actions } from "../../input/actions";
import { isolated } from "../../model/format/bidi";
import { formatCount, formatDuration } from "../../model/format/units";
import { commonLocation } from "../../model/lanes/labels";
import type { Store } from "../../state/store";
import { PanelHeader } from "./header";
import { EventLink } from "./lists";
import { Busy, type Range, UNKNOWN, useStatistics } from "./range_totals";
import { ByOpOrName, NOTHING, StatisticsTable } from "./statistics_table";
import { WaitingSummary } from "./waiting";

const MAX_ROWS = 200;

export function SeveralDetails({
  store,
  actions,
  events,
}: {
  store: Store;
  actions: Actions;
  events: number[];
}) {
  return (
    <>
      <PanelHeader store={store} title={`${formatCount(events.length)} events selected`} />
      <dl>
        <dt>Total</dt>
        <dd title="Sum of the full durations of all selected events">
          {formatDuration(events.reduce((sum, id) => sum + store.drawn.duration[id], 0))}
        </dd>
      </dl>
      <ul class="links">
        {events.slice(0, MAX_ROWS).map((id) => (
          <li key={id}>
            <EventLink store={store} actions={actions} id={id} />
          </li>
        ))}
      </ul>
      {events.length > MAX_ROWS && (
        <p class="unlinked">
          {formatCount(MAX_ROWS)} of {formatCount(events.length)}
        </p>
      )}
    </>
  );
}

export function RangeDetails({ store, actions, range }: { store: Store; actions: Actions; range: Range }) {
  const answer = useStatistics(store, range);
  const length = range.end - range.start;
  const where = range.lanes ? commonLocation(range.lanes.map((lane) => store.drawn.lanes[lane])) : "";
  return (
    <>
      <PanelHeader store={store} title={`${formatDuration(length)} selected`} />
      <dl>
        {where && (
          <>
            <dt>On</dt>
            <dd>{isolated(where)}</dd>
          </>
        )}
        <dt>Events</dt>
        <dd>{answer ? formatCount(answer.count) : UNKNOWN}</dd>
        <dt>Busy</dt>
        <dd title="Time in which at least one of these events ran (their union), cut to the range">
          <Busy answer={answer} length={length} of=" of the range" />
        </dd>
        <dt>Total</dt>
        <dd title="Sum of the full durations of all selected events">
          {answer ? formatDuration(answer.total) : UNKNOWN} <small>(full durations)</small>
        </dd>
      </dl>
      <WaitingSummary store={store} actions={actions} {...range} isOne />
      <ByOpOrName store={store} />
      <StatisticsTable
        store={store}
        actions={actions}
        rows={answer?.rows ?? null}
        most={MAX_ROWS}
        nothing={where ? `Nothing ran on ${isolated(where)} here.` : NOTHING}
        isFull
      />
    </>
  );
}
