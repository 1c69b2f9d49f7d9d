/** The figures of the heat map as a table: one row per task, from which its largest cell is opened. */

import { useMemo, useState } from "preact/hooks";
import { type Cell, type Grid, type Metric, stepText, type Values } from "../model/fleet/grid";
import { spreadOfTasks } from "../model/fleet/spread";
import { formatCell } from "../model/format/column_units";
import { markdownText } from "../model/format/table_text";
import { CopyTable } from "../ui/copy_table";
import { useRows } from "../ui/row_keys";
import { type Order, sortRows } from "../ui/sort";
import { Table } from "../ui/table";

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

export function TaskTable({ grid, metric, values, choose, open }: TaskTableProps) {
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
    column === "count" ? String(spreads[task].count) : cellText(value(task, column), metric);
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

function cellText(value: string | number, metric: Metric): string {
  return typeof value === "string" ? value : formatCell(value, metric.unit);
}

function stepHeads(grid: Grid): string[] {
  return Array.from(grid.step, (_, column) => stepText(grid, column));
}

function row({ step }: Grid, values: Values, task: number): (number | null)[] {
  const part = values.subarray(task * step.length, (task + 1) * step.length);
  return Array.from(part, (value) => (Number.isNaN(value) ? null : value));
}
