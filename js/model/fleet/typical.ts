/** What a step usually takes: the value that others of its run are compared with. */

import type { Grid } from "./grid";
import { quantile, type Spread } from "./spread";

/** Steps that show which of them is typical; runs with fewer are compared with one another. */
const FEWEST = 3;

/** For each step the median, over the steps of its run, of the largest value of a task; as fleet_outliers has it. */
export function typicalOf({ run, runs }: Grid, bySteps: readonly Spread[]): Float64Array {
  const counts = new Uint32Array(runs.length);
  for (const one of run) counts[one]++;
  const group = run.map((one) => (counts[one] < FEWEST ? runs.length : one));
  const values = Array.from({ length: runs.length + 1 }, (): number[] => []);
  bySteps.forEach(({ count, most }, column) => {
    if (count > 0) values[group[column]].push(most);
  });
  const medians = values.map((each) =>
    each.length < FEWEST ? Number.NaN : quantile(Float64Array.from(each).sort(), 0.5),
  );
  return Float64Array.from(group, (one) => medians[one]);
}
