/** The typical step time: the reference of the other steps of its group. */

import type { Grid } from "./grid";
import { quantile, type Spread } from "./spread";

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
