/** What ran in a range of time: totals by op or by name, sortable. */

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Actions } from "../../input/actions";
import { isolated } from "../../model/format/bidi";
import { formatCount, formatDuration, formatNumber, formatPercent } from "../../model/format/units";
import { commonLocation } from "../../model/lanes/labels";
import { eventsShown, stepName } from "../../model/lanes/step_bars";
import { type RangeStatistics, rangeStatistics } from "../../model/search/range_statistics";
import { isCritical } from "../../state/critical_path";
import type { Store } from "../../state/store";
import { PanelHeader } from "./header";
import { EventLink } from "./lists";
import { ByOpOrName, NOTHING, StatisticsTable } from "./statistics_table";
import { WaitingSummary } from "./waiting";

type Range = NonNullable<Store["range"]>;

const MAX_ROWS = 200;
const PAUSE_MS = 150;
const MAX_SHORT_ROWS = 12;
const FEW_NOTES = 4;

/** Sums over a range; null while they are asked for. Made again only when the question changes. */
function useStatistics(store: Store, range: Range): RangeStatistics | null {
  const { remote, statisticsBy: by } = store;
  const { start, end, lanes, step } = range;
  const question = `${start} ${end} ${lanes} ${step} ${by}`;
  const [answer, setAnswer] = useState<{ question: string; statistics: RangeStatistics } | null>(null);
  useEffect(() => {
    if (!HAS_KERNEL || !remote) return;
    let isWanted = true;
    // A range that is being dragged is asked for when it rests.
    const timer = setTimeout(async () => {
      const statistics = await remote.statistics(range, by);
      if (isWanted && statistics) setAnswer({ question, statistics });
    }, PAUSE_MS);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [remote, question]);
  const own = useMemo(
    () => (HAS_KERNEL && remote ? null : rangeStatistics(store.drawn, range, by)),
    [remote ?? store.drawn, question],
  );
  return own ?? (answer?.question === question ? answer.statistics : null);
}

/** What stands for a figure that is still asked for. */
const UNKNOWN = "…";

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
      <ul class="links">
        {events.slice(0, MAX_ROWS).map((id) => (
          <li key={id}>
            <EventLink store={store} actions={actions} id={id} />
          </li>
        ))}
      </ul>
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

/** What the panel says while nothing is selected: the step in short, and what was noted while reading. */
export function Overview({ store, actions }: { store: Store; actions: Actions }) {
  const whole = { ...store.whole, lanes: null, step: store.stepNumber };
  const answer = useStatistics(store, whole);
  const length = whole.end - whole.start;
  const rows = answer && worked(store, answer.rows);
  const leftOut = store.aligned ? store.run.count - eventsShown(store) : 0;
  const waits = <WaitingSummary store={store} actions={actions} {...whole} />;
  return (
    <>
      <PanelHeader
        store={store}
        title={
          store.aligned
            ? "Steps aligned"
            : store.step === null
              ? "Whole run"
              : stepName(store.run.steps[store.step])
        }
      />
      <dl>
        <dt>Length</dt>
        <dd>{formatDuration(length)}</dd>
        <dt>Events</dt>
        <dd>{answer ? formatCount(answer.count) : UNKNOWN}</dd>
        {leftOut > 0 && (
          <>
            <dt>Left out</dt>
            <dd>{formatNumber(leftOut, "event")} outside of steps</dd>
          </>
        )}
        {!store.aligned && (
          <>
            <dt>Busy</dt>
            <dd title="Time in which at least one event ran (the union of all events), of the time shown">
              <Busy answer={answer} length={length} of=" had an event" />
            </dd>
          </>
        )}
      </dl>
      {isCritical(store) && waits}
      <h3>Most time</h3>
      <StatisticsTable store={store} actions={actions} rows={rows} most={MAX_SHORT_ROWS} />
      {rows && rows.length < answer.rows.length && (
        <p class="unlinked">
          Without the host program: its rows hold each other. Drag a range to sum them up too.
        </p>
      )}
      {!isCritical(store) && waits}
      <Notes notes={store.drawn.notes} />
    </>
  );
}

/**
 * What is more than a frame of the program: frames contain each other and the ops in them, so that the outermost
 * would come first whatever is slow. Where there is nothing else they are all there is to say.
 */
function worked(store: Store, rows: RangeStatistics["rows"]): RangeStatistics["rows"] {
  const others = rows.filter((row) => store.drawn.categories[row.category] !== "host");
  return others.length > 0 ? others : rows;
}

function Busy({ answer, length, of }: { answer: RangeStatistics | null; length: number; of: string }) {
  if (!answer) return UNKNOWN;
  return (
    <>
      {formatDuration(answer.busy)} <small>{`(${formatPercent(answer.busy / (length || 1))}${of})`}</small>
    </>
  );
}

function Notes({ notes }: { notes: readonly string[] }) {
  const [all, setAll] = useState(false);
  if (notes.length === 0) return null;
  const shown = all ? notes : notes.slice(0, FEW_NOTES);
  return (
    <section>
      <h3>Noted while reading</h3>
      <ul class="notes">
        {shown.map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
      {notes.length > shown.length && (
        <button type="button" class="link" onClick={() => setAll(true)}>
          <b>{notes.length - shown.length} more</b>
        </button>
      )}
    </section>
  );
}
