/** Everything that the heat map is drawn from: its cells, the part in view, and the marks. */

import type { Cell, Grid, Metric } from "../model/fleet/grid";
import type { Range } from "../model/fleet/pixels";
import type { Spread } from "../model/fleet/spread";
import type { Tokens } from "../ui/theme";
import type { Geometry } from "./geometry";
import type { Picture } from "./picture";

export interface Shown {
  grid: Grid;
  metric: Metric;
  range: Range;
  geometry: Geometry;
  picture: Picture;
  tokens: Tokens;
  bySteps: readonly Spread[];
  byTasks: readonly Spread[];
  /** The smallest and largest value of the axis of steps; larger ones are drawn at its end. */
  extent: [number, number];
  cell: Cell | null;
  hovered: Cell | null;
  /** Columns between which the pointer drags; null while it does not. */
  dragged: [number, number] | null;
  since: number | null;
}
