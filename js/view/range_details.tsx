/** What ran in a range of time: totals by op or by name, sortable. */

import { useMemo, useState } from "preact/hooks";
import type { Commands } from "../input/commands";
import { categoryColour } from "../model/palette";
import { rangeStatistics } from "../model/statistics";
import { stepName } from "../model/step_bars";
import { formatCount, formatDuration } from "../model/units";
import { PanelHeader } from "./event_details";
import { EventLink } from "./event_lists";
import type { Store } from "./store";
import { shortName } from "./wording";

type Range = NonNullable<Store["range"]>;
type Statistics = ReturnType<typeof rangeStatistics>;
type Row = Statistics["rows"][number];
type Column = "label" | "count" | "total" | "mean" | "min" | "max";

const COLUMNS: [Column, string][] = [
  ["label", "Op"],
  ["count", "Count"],
  ["total", "Total"],
  ["mean", "Mean"],
  ["min", "Min"],
  ["max", "Max"],
];
const MOST = 200;
const FEW = 12;
const FEW_NOTES = 4;

/** The panel is drawn again for many reasons; the sums over a million events only when the question changes. */
function useStatistics(store: Store, range: Range): Statistics {
  return useMemo(
    () => rangeStatistics(store.drawn, range, store.statisticsBy),
    [store.drawn, range.start, range.end, range.lanes, range.step, store.statisticsBy],
  );
}

export function SeveralDetails({
  store,
  commands,
  events,
}: {
  store: Store;
  commands: Commands;
  events: number[];
}) {
  return (
    <>
      <PanelHeader store={store} title={`${formatCount(events.length)} events selected`} />
      <ul class="links">
        {events.slice(0, MOST).map((id) => (
          <li key={id}>
            <EventLink store={store} commands={commands} id={id} />
          </li>
        ))}
      </ul>
    </>
  );
}

export function RangeDetails({ store, commands, range }: { store: Store; commands: Commands; range: Range }) {
  const answer = useStatistics(store, range);
  const length = range.end - range.start;
  return (
    <>
      <PanelHeader store={store} title={`${formatDuration(length)} selected`} />
      <dl>
        <dt>Events</dt>
        <dd>{formatCount(answer.count)}</dd>
        <dt>Busy</dt>
        <dd title="Union of the selected events, cut to the range">
          {formatDuration(answer.busy)}{" "}
          <small>({((100 * answer.busy) / (length || 1)).toFixed(1)} % of the range)</small>
        </dd>
        <dt>Total</dt>
        <dd title="Sum of the full durations of all selected events">{formatDuration(answer.total)}</dd>
      </dl>
      <ByOpOrName store={store} />
      <StatisticsTable store={store} commands={commands} rows={answer.rows} most={MOST} />
    </>
  );
}

/** What the panel says while nothing is selected: the step in short, and what was noted while reading. */
export function Overview({ store, commands }: { store: Store; commands: Commands }) {
  const whole = { ...store.bounds, lanes: null, step: store.stepNumber };
  const answer = useStatistics(store, whole);
  const length = whole.end - whole.start;
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
        <dd>{formatCount(answer.count)}</dd>
        <dt>Busy</dt>
        <dd title="Union of all events">
          {formatDuration(answer.busy)} <small>({((100 * answer.busy) / (length || 1)).toFixed(1)} %)</small>
        </dd>
      </dl>
      <h3>Most time</h3>
      <StatisticsTable store={store} commands={commands} rows={answer.rows} most={FEW} />
      <Notes notes={store.drawn.notes} />
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

function ByOpOrName({ store }: { store: Store }) {
  return (
    <div class="segmented" role="group" aria-label="Sum up by">
      {(["op", "name"] as const).map((by) => (
        <button
          key={by}
          type="button"
          aria-pressed={store.statisticsBy === by}
          onClick={() => store.setPanel({ statisticsBy: by })}
        >
          By {by}
        </button>
      ))}
    </div>
  );
}

function StatisticsTable(props: { store: Store; commands: Commands; rows: readonly Row[]; most: number }) {
  const [sort, setSort] = useState<{ by: Column; up: boolean }>({ by: "total", up: false });
  const { store, commands } = props;
  const compare = (a: Row, b: Row) =>
    sort.by === "label" ? a.label.localeCompare(b.label) : a[sort.by] - b[sort.by];
  const rows = [...props.rows].sort((a, b) => (sort.up ? compare(a, b) : compare(b, a)));
  const columns = props.most === FEW ? COLUMNS.slice(0, 3) : COLUMNS;
  return (
    <div style={{ overflowX: "auto" }}>
      <table>
        <thead>
          <tr>
            {columns.map(([column, title]) => (
              <th
                key={column}
                scope="col"
                aria-sort={sort.by === column ? (sort.up ? "ascending" : "descending") : "none"}
              >
                <button
                  type="button"
                  onClick={() => setSort({ by: column, up: sort.by === column && !sort.up })}
                >
                  {column === "label" && store.statisticsBy === "name" ? "Name" : title}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, props.most).map((row) => (
            <tr key={row.label}>
              <td title={row.label}>
                <i
                  class="swatch"
                  style={{
                    background: categoryColour(store.drawn.categories[row.category], store.painting.theme),
                  }}
                />
                <button
                  type="button"
                  title={`Show the longest ${row.label}`}
                  onClick={() => commands.visit(row.longest)}
                >
                  {shortName(row.label) || "(none)"}
                </button>
              </td>
              <td>{formatCount(row.count)}</td>
              {columns.slice(2).map(([column]) => (
                <td key={column}>{formatDuration(row[column as "total"])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > props.most && <p class="unlinked">{formatCount(rows.length - props.most)} more</p>}
    </div>
  );
}
