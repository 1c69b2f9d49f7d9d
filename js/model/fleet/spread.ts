/** How the values of a figure are spread: over all cells, over the steps of a task, over the tasks of a step. */

import type { Grid, Values } from "./grid";

/** Quantiles of some values, in ascending order; NaN without any. */
export interface Spread {
  count: number;
  low: number;
  quarter: number;
  median: number;
  threeQuarters: number;
  high: number;
  most: number;
  /** Index of the largest of them among those given; -1 without any. */
  largest: number;
}

/** `low` and `high` are the 5th and 95th percentiles. */
const LOW = 0.05;

/** The spread of `count` values, the first at `start`, each `stride` behind the one before. */
export function spreadOf(values: Values, start: number, count: number, stride: number): Spread {
  const known = new Float64Array(count);
  let size = 0;
  let largest = -1;
  for (let index = 0; index < count; index++) {
    const value = values[start + index * stride];
    if (Number.isNaN(value)) continue;
    known[size++] = value;
    if (largest < 0 || value > values[start + largest * stride]) largest = index;
  }
  const sorted = known.subarray(0, size).sort();
  const at = (share: number) => quantile(sorted, share);
  return {
    count: size,
    low: at(LOW),
    quarter: at(0.25),
    median: at(0.5),
    threeQuarters: at(0.75),
    high: at(1 - LOW),
    most: at(1),
    largest,
  };
}

/** The values that are known, in ascending order. */
export function sortedValues(values: Values): Values {
  return values.filter((value) => !Number.isNaN(value)).sort();
}

/** The quantile of sorted values, between two of them in proportion; NaN without any. */
export function quantile(sorted: Float64Array, share: number): number {
  if (sorted.length === 0) return Number.NaN;
  const place = share * (sorted.length - 1);
  const before = Math.floor(place);
  const next = sorted[Math.min(before + 1, sorted.length - 1)];
  return sorted[before] + (next - sorted[before]) * (place - before);
}

export function spreadOfTasks({ tasks, step }: Grid, values: Values): Spread[] {
  return tasks.map((_, task) => spreadOf(values, task * step.length, step.length, 1));
}

export function spreadOfSteps({ tasks, step }: Grid, values: Values): Spread[] {
  return Array.from(step, (_, column) => spreadOf(values, column, tasks.length, step.length));
}

/** Values that show which of them is typical. */
const FEWEST = 3;

/** For each step the median, over the steps of its group, of the largest value of a task; NaN without a group. */
export function typicalOf({ group }: Grid, bySteps: readonly Spread[]): Float64Array {
  const values = new Map<number, number[]>();
  bySteps.forEach(({ count, most }, column) => {
    if (!group[column] || count === 0) return;
    const own = values.get(group[column]);
    if (own) own.push(most);
    else values.set(group[column], [most]);
  });
  const median = (each: number[]) =>
    each.length < FEWEST ? Number.NaN : quantile(Float64Array.from(each).sort(), 0.5);
  const medians = new Map([...values].map(([one, each]) => [one, median(each)]));
  return Float64Array.from(group, (one) => medians.get(one) ?? Number.NaN);
}
