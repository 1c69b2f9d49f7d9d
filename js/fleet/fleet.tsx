/** A fleet's heat map with its surroundings: the choice of a figure, the legend, the current cell, the table. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import {
  type Cell,
  cellText,
  type Grid,
  type Metric,
  stepText,
  type Values,
  valueText,
} from "../model/fleet/grid";
import type { Range } from "../model/fleet/pixels";
import { colours, marksOf, type Scale, scaleOf } from "../model/fleet/scale";
import { sortedValues, spreadOfSteps, spreadOfTasks, typicalOf } from "../model/fleet/spread";
import { formatCell } from "../model/format/column_units";
import { markdownText } from "../model/format/table_text";
import { unbroken } from "../model/format/units";
import type { Theme } from "../model/paint/palette";
import { useRows } from "../ui/arrow_keys";
import { copied } from "../ui/clipboard";
import { CopyTable } from "../ui/copy_table";
import { type Order, sortRows } from "../ui/sort";
import { Table } from "../ui/table";
import { useUniqueId } from "../ui/unique_id";
import { HeatMap, largestOf } from "./heat_map";
import type { FleetHost } from "./host";
import { whole, zoomed } from "./range";

interface FleetProps {
  host: FleetHost;
  grid: Grid;
  /** The values of the first figure. */
  first: Values;
  theme: Theme;
  /** Calls back with a cell that a table names. */
  onNamed: (named: (cell: Cell) => void) => void;
  /** Calls back with a key, wherever in the view it is pressed. */
  onKey: (pressed: (key: string) => boolean) => void;
}

/** The result of the last request. */
interface Said {
  text: string;
  isError?: boolean;
  isBusy?: boolean;
  /** A Python call to copy. */
  call?: string | undefined;
}

const ABOUT =
  "Each pixel has the colour of its largest value. Below are the tasks of each step: their median (line), the 5th to 95th " +
  "percentile (band) and the largest (dots; triangles beyond the axis). On the right are the steps of each task: the " +
  "5th to 95th percentile (thin), the middle half (thick) and the median.";

const NOTHING: Said = { text: "" };

export function Fleet({ host, grid, first, theme, onNamed, onKey }: FleetProps) {
  const steps = grid.step.length;
  const [chosen, setChosen] = useState({ metric: 0, values: first });
  const [wanted, setWanted] = useState(0);
  const [cell, setCell] = useState<Cell | null>(null);
  const [range, show] = useState<Range>(whole(steps));
  const [isTable, setTable] = useState(false);
  const [since, setSince] = useState(host.since);
  const [opened, setOpened] = useState<Cell | null>(null);
  const [said, setSaid] = useState<Said>(NOTHING);
  const latest = useRef(0);
  const about = useUniqueId();
  useEffect(() => {
    const watching = new AbortController();
    host.watch(() => setSince(host.since), watching.signal);
    const { end } = host;
    end?.addEventListener("abort", () => setSaid({ text: end.reason.message, isError: true }), watching);
    return () => watching.abort();
  }, []);
  const metric = grid.metrics[chosen.metric];
  const { values } = chosen;
  const { scale, spreads, typical } = useMemo(() => {
    const spreads = { bySteps: spreadOfSteps(grid, values), byTasks: spreadOfTasks(grid, values) };
    return { scale: scaleOf(sortedValues(values)), spreads, typical: typicalOf(grid, spreads.bySteps) };
  }, [grid, values]);
  /** Only the last request counts: an answer may take long. */
  const ask = (text: string, answer: Promise<Said>) => {
    const mine = ++latest.current;
    setSaid({ text, isBusy: true });
    const say = (said: Said) => mine === latest.current && setSaid(said);
    answer.then(say, (error: Error) => say({ text: error.message, isError: true }));
  };
  const choose = (next: Cell) => {
    setCell(next);
    setSaid(NOTHING);
    latest.current++;
  };
  // Each step that was recorded has a duration, the first figure.
  const isRecorded = ({ task, column }: Cell) => !Number.isNaN(first[task * steps + column]);
  const open = (next: Cell) => {
    if (!isRecorded(next)) {
      choose(next);
      host.close();
      setOpened(null);
      return;
    }
    setCell(next);
    const answer = host.open(next).then(({ text, isShown, call }) => {
      setOpened(isShown ? next : null);
      return { text, call };
    });
    ask(`Reading the trace of ${cellText(grid, next)} …`, answer);
  };
  const copy = async (call: string) => {
    const text = await copied(call);
    // Another cell may have been chosen in the meantime.
    setSaid((now) => (now.call === call ? { text, call } : now));
  };
  const close = () => {
    host.close();
    setOpened(null);
    setSaid(NOTHING);
  };
  const measure = (index: number) => {
    setWanted(index);
    const name = grid.metrics[index];
    const answer = host.values(grid, name.name).then(
      (values) => {
        setChosen({ metric: index, values });
        return NOTHING;
      },
      (error: Error) => {
        setWanted(chosen.metric);
        throw error;
      },
    );
    ask(`Loading: ${name.label} …`, answer);
  };
  onNamed((next) => {
    if (next.column < range.from || next.column >= range.to) show(whole(steps));
    open(next);
  });
  onKey((key) => {
    const { column } = cell ?? largestOf(spreads.byTasks);
    if (key === "+" || key === "=") show(zoomed(range, column, 0.5, steps));
    else if (key === "-") show(zoomed(range, column, 2, steps));
    else if (key === "0") show(whole(steps));
    else return false;
    return true;
  });
  const isPart = range.to - range.from < steps;
  const isElsewhere = cell !== null && host.hasTimeline?.(grid, cell) === false;
  const here = cell && values[cell.task * steps + cell.column];
  return (
    <>
      <div class="toolbar">
        <h2 class="title" title={grid.title}>
          {grid.title}
        </h2>
        <label class="metric">
          Colour{" "}
          <select
            aria-label="Colour by"
            value={wanted}
            title={grid.metrics[wanted].definition}
            onChange={({ currentTarget }) => measure(Number(currentTarget.value))}
          >
            {grid.metrics.map(({ name, label }, index) => (
              <option key={name} value={index}>
                {label}
              </option>
            ))}
          </select>
        </label>
        {scale && <Legend {...{ metric, scale, theme }} />}
        <button type="button" class="about" aria-label="About: heat map" aria-describedby={about}>
          ?
        </button>
        <span id={about} hidden>
          {ABOUT}
        </span>
        <span class="space" />
        {isPart && (
          <button type="button" title="Show all steps (0)" onClick={() => show(whole(steps))}>
            All steps
          </button>
        )}
        <button type="button" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          Table
        </button>
      </div>
      {scale ? (
        <HeatMap
          {...{ grid, metric, values, scale, spreads, typical, theme, cell, range, choose, show, open }}
          since={host.compareSince && since > 0 ? since : null}
        />
      ) : (
        <p class="cannot-say">Not available: no step has this figure.</p>
      )}
      <div class="current">
        <span role="status" data-busy={said.isBusy}>
          {cell && here !== null ? (
            <>
              <strong>{cellText(grid, cell)}</strong> {valueText(metric, here, typical[cell.column])}
            </>
          ) : (
            "Click a cell to see its timeline"
          )}
          {said.text && <em class={said.isError ? "failed" : undefined}> {said.text}</em>}
          {said.call && <code> {said.call}</code>}
        </span>
        {said.call && (
          <button type="button" onClick={() => copy(said.call!)}>
            Copy call
          </button>
        )}
        <span class="space" />
        {cell && isRecorded(cell) && (
          <button
            type="button"
            title={
              isElsewhere
                ? "This page does not have it: show the Python call that opens it (Enter)"
                : "Show the timeline of this step and task (Enter)"
            }
            onClick={() => open(cell)}
          >
            {isElsewhere ? "Show call" : "Open timeline"}
          </button>
        )}
        {opened && (
          <button type="button" onClick={close}>
            Close timeline
          </button>
        )}
        {cell && host.compareSince && (
          <button
            type="button"
            disabled={cell.column === 0 || cell.column === since}
            title="Which ops got slower since this step: see the tab Slower ops"
            onClick={() => {
              host.compareSince?.(cell.column);
              setSaid({ text: `The tab Slower ops compares steps since ${stepText(grid, cell.column)}.` });
            }}
          >
            Compare since here
          </button>
        )}
      </div>
      {isTable && <TaskTable {...{ grid, metric, values, choose, open }} />}
    </>
  );
}

/** Colours of the bar: between them it is drawn evenly. */
const STOPS = 24;

/** A colour bar with values, and the colour of cells without one. */
function Legend({ metric, scale, theme }: { metric: Metric; scale: Scale; theme: Theme }) {
  const all = colours(theme);
  const stops = Array.from(
    { length: STOPS },
    (_, at) => all[Math.round((at * (all.length - 1)) / (STOPS - 1))],
  );
  const [least, low] = [scale.least, scale.low].map((value) => formatCell(value, metric.unit));
  const marks = marksOf(scale).map(({ value, place }, at) => {
    const text = formatCell(value, metric.unit);
    return { place, text: at === 0 && least !== low ? `≤ ${text}` : text };
  });
  const name = `Colours: ${marks.map(({ text }) => text).join(" to ")}`;
  return (
    <div class="heat-legend" role="img" aria-label={name}>
      <span class="scale">
        <i style={{ background: `linear-gradient(to right, ${stops.join(", ")})` }} />
        {marks.map(({ text, place }, at) => (
          <small key={place} data-first={at === 0 || undefined} style={{ left: `${100 * place}%` }}>
            {unbroken(text)}
          </small>
        ))}
      </span>
      <span class="nothing">
        <i />
        <small>not recorded</small>
      </span>
    </div>
  );
}

interface TaskTableProps {
  grid: Grid;
  metric: Metric;
  values: Values;
  choose: (cell: Cell) => void;
  open: (cell: Cell) => void;
}

type Column = "task" | "count" | "low" | "median" | "high" | "most" | "step";

const HEADS: { column: Column; title: string; definition: string; isText?: boolean }[] = [
  { column: "task", title: "Task", definition: "The process of a distributed run.", isText: true },
  { column: "count", title: "Steps", definition: "Number of steps with a value." },
  { column: "low", title: "5 %", definition: "5th percentile over the steps." },
  { column: "median", title: "Median", definition: "Median over the steps." },
  { column: "high", title: "95 %", definition: "95th percentile over the steps." },
  { column: "most", title: "Largest", definition: "Largest value of a step." },
  { column: "step", title: "In", definition: "The step with the largest value.", isText: true },
];

function TaskTable({ grid, metric, values, choose, open }: TaskTableProps) {
  const spreads = useMemo(() => spreadOfTasks(grid, values), [grid, values]);
  const [order, setOrder] = useState<Order<Column> | null>(null);
  const value = (task: number, column: Column): string | number => {
    if (column === "task") return grid.tasks[task];
    if (column === "step") return spreads[task].largest < 0 ? "" : stepText(grid, spreads[task].largest);
    return spreads[task][column];
  };
  const tasks = grid.tasks.map((_, task) => task);
  const sorted = order ? sortRows(tasks, order.up, (task) => value(task, order.column)) : tasks;
  const { around, button } = useRows(sorted);
  const text = (task: number, column: Column) =>
    column === "count" ? String(spreads[task].count) : columnText(value(task, column), metric);
  const show = (task: number) => {
    if (spreads[task].largest < 0) return;
    const cell = { task, column: spreads[task].largest };
    choose(cell);
    open(cell);
  };
  const data = () =>
    [
      ["task", ...stepHeads(grid)],
      tasks.map((task) => [grid.tasks[task], ...row(grid, values, task)]),
    ] as const;
  const markdown = () =>
    markdownText(
      HEADS.map(({ title }) => title),
      sorted.map((task) => HEADS.map(({ column }) => text(task, column))),
      (at) => HEADS[at].isText === true,
    );
  return (
    <section class="block task-table">
      <header>
        <h3>{`${metric.label} by task`}</h3>
        <CopyTable name={`${metric.label} by task`} {...{ data, markdown }} />
      </header>
      <div class="rows" role="group" aria-label={`${metric.label} by task`} {...around}>
        <Table
          heads={HEADS.map((head) => ({ ...head, ...(head.isText && { class: "text" }) }))}
          {...{ order, setOrder }}
          table={{ "aria-label": `${metric.label} by task` }}
        >
          <tbody>
            {sorted.map((task) => (
              <tr key={task}>
                {HEADS.map(({ column, isText }) => (
                  <td key={column} class={isText ? "text" : undefined}>
                    {column === "task" ? (
                      <button class="row" {...button(task)} onClick={() => show(task)}>
                        {grid.tasks[task]}
                      </button>
                    ) : (
                      text(task, column)
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </Table>
      </div>
    </section>
  );
}

function columnText(value: string | number, metric: Metric): string {
  return typeof value === "string" ? value : formatCell(value, metric.unit);
}

function stepHeads(grid: Grid): string[] {
  return Array.from(grid.step, (_, column) => stepText(grid, column));
}

function row({ step }: Grid, values: Values, task: number): (number | null)[] {
  const part = values.subarray(task * step.length, (task + 1) * step.length);
  return Array.from(part, (value) => (Number.isNaN(value) ? null : value));
}
