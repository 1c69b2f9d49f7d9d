/** The names of runs above the heat map, each cut where the next run begins. */

import type { Grid } from "../model/fleet/grid";
import type { Range } from "../model/fleet/pixels";
import { cutEnd } from "../model/format/shorten";
import { columnX, type Geometry } from "./geometry";

/** Between a name and the lines on both sides. */
const GAP = 3;

/** Where each run in view begins, and as much of its name as fits; empty if no letter does. */
export function runLabels(
  grid: Grid,
  range: Range,
  geometry: Geometry,
  measure: (text: string) => number,
): { x: number; text: string }[] {
  const { x: left, width } = geometry.plot;
  const first = Math.floor(range.from);
  const starts: number[] = [];
  for (let column = first; column < range.to; column++)
    if (column === first || grid.run[column] !== grid.run[column - 1]) starts.push(column);
  const places = starts.map((column) => Math.max(columnX(geometry, range, column), left));
  return places.map((x, at) => {
    const room = (places[at + 1] ?? left + width) - x - 2 * GAP;
    return { x: x + GAP, text: cutEnd(grid.runs[grid.run[starts[at]]], room, measure) };
  });
}
