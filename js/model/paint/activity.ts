/** How busy the trace is over time, for the minimap. */

import { firstAbove } from "../lod/bisect";
import type { Drawn, Row } from "../types";
import { ACTIVITIES, activitiesOf } from "./palette";

export interface Activity {
  /** By activity: busy ns in each bin, summed over the rows. */
  busy: Float32Array[];
  /** The most that any bin holds over all activities (ns). */
  peak: number;
}

/** The time from `from` to `to` (ns) in `bins` equal parts; `lanes` are lane ids, null means all. */
export function activity(
  drawn: Drawn,
  rows: readonly (readonly Row[])[],
  lanes: readonly number[] | null,
  from: number,
  to: number,
  bins: number,
): Activity {
  const activities = activitiesOf(drawn.categories);
  const categories = ACTIVITIES.length;
  // Summed as float64: millions of small parts in float32 would lose the smallest.
  const sums = new Float64Array(categories * bins);
  // How many more events than in the bin before fill a bin whole, so that a long event costs no more than a short one.
  const full = new Float64Array(categories * bins);
  if (to > from && bins > 0) {
    for (const lane of lanes ?? rows.keys()) {
      for (const row of rows[lane] ?? []) addRow(sums, full, bins, row, drawn.category, activities, from, to);
    }
  }
  for (let category = 0; category < categories; category++) {
    let filling = 0;
    for (let bin = 0; bin < bins; bin++) {
      filling += full[category * bins + bin];
      sums[category * bins + bin] += (filling * (to - from)) / bins;
    }
  }
  let peak = 0;
  for (let bin = 0; bin < bins; bin++) {
    let all = 0;
    for (let category = 0; category < categories; category++) all += sums[category * bins + bin];
    if (all > peak) peak = all;
  }
  const busy = ACTIVITIES.map((_, category) =>
    Float32Array.from(sums.subarray(category * bins, (category + 1) * bins)),
  );
  return { busy, peak };
}

function addRow(
  sums: Float64Array,
  full: Float64Array,
  bins: number,
  row: Row,
  category: Uint8Array,
  activities: readonly number[],
  from: number,
  to: number,
): void {
  const { ids, start, end } = row;
  const width = (to - from) / bins;
  for (let i = firstAbove(end, from); i < ids.length && start[i] < to; i++) {
    const left = Math.max(start[i], from);
    const right = Math.min(end[i], to);
    const base = activities[category[ids[i]]] * bins;
    if (row.merged && row.merged.count[i] > 1) {
      addSpread(sums, base, bins, from, width, row, i);
      continue;
    }
    const first = Math.min(Math.floor((left - from) / width), bins - 1);
    const last = Math.min(Math.floor((right - from) / width), bins - 1);
    if (first === last) {
      sums[base + first] += right - left;
      continue;
    }
    sums[base + first] += from + (first + 1) * width - left;
    full[base + first + 1]++;
    full[base + last]--;
    sums[base + last] += right - (from + last * width);
  }
}

/** Several events as one entry: their time evenly over it, bin by bin, as merged entries are short. */
function addSpread(
  sums: Float64Array,
  base: number,
  bins: number,
  from: number,
  width: number,
  { start, end, merged }: Row,
  entry: number,
): void {
  const length = end[entry] - start[entry];
  const density = length > 0 && merged ? merged.busy[entry] / length : 0;
  const last = Math.min(Math.floor((end[entry] - from) / width), bins - 1);
  for (let bin = Math.max(Math.floor((start[entry] - from) / width), 0); bin <= last; bin++) {
    const left = Math.max(start[entry], from + bin * width);
    const right = Math.min(end[entry], from + (bin + 1) * width);
    sums[base + bin] += Math.max(right - left, 0) * density;
  }
}
