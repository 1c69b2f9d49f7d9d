/** The grid of a fleet: its tasks, steps and figures. */

import { formatCell } from "../format/column_units";
import { formatRatio, unbroken } from "../format/units";
import { oneOf, openContainer } from "../wire/container";
import type { ColumnHead, GridHeader } from "../wire/schema";

/** A figure of a step, such as its duration. */
export type Metric = ColumnHead;

export interface Grid extends GridHeader {
  /** The run of each step, and its number in it; one column each. */
  run: Uint32Array;
  step: Uint32Array;
  /** Steps with the same number are compared with one another, as fleet_outliers does; those with 0 are not. */
  group: Uint32Array;
}

/** The values of one figure: that of task t and step s is at t * steps + s; NaN without one. */
export type Values = Float64Array;

export async function gridIn(bytes: Uint8Array): Promise<Grid> {
  const container = await openContainer(bytes);
  const header = container.header as unknown as GridHeader;
  const run = oneOf(container, "run", null, [Uint32Array]);
  const step = oneOf(container, "step", run.length, [Uint32Array]);
  const group = oneOf(container, "group", run.length, [Uint32Array]);
  const { title, tasks, runs, metrics } = header;
  return { title, tasks, runs, metrics, run, step, group };
}

export async function valuesIn(bytes: Uint8Array, { tasks, step }: Grid): Promise<Values> {
  return oneOf(await openContainer(bytes), "values", tasks.length * step.length, [Float64Array]);
}

export interface Cell {
  task: number;
  column: number;
}

/** "step 13", with its run if there are several. */
export function stepText(grid: Grid, column: number): string {
  const step = `step ${grid.step[column]}`;
  return grid.runs.length > 1 ? `${step} of ${grid.runs[grid.run[column]]}` : step;
}

/** "step 13 · worker 2". */
export function cellText(grid: Grid, { task, column }: Cell): string {
  return `${stepText(grid, column)} · ${grid.tasks[task]}`;
}

/** "45.5 ms · 1.82 × median", that of the largest values of its run's steps, or that there is no such step. */
export function valueText(metric: Metric, value: number, median: number): string {
  if (Number.isNaN(value)) return "not recorded";
  const text = formatCell(value, metric.unit);
  return unbroken(median > 0 ? `${text} · ${formatRatio(value / median)} × median` : text);
}
