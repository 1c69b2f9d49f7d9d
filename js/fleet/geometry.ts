/** Where the parts of the heat map are, in CSS pixels. */

import type { Cell, Grid } from "../model/fleet/grid";
import { type Range, span } from "../model/fleet/pixels";

export interface Geometry {
  width: number;
  height: number;
  /** The cells. */
  plot: { x: number; y: number; width: number; height: number };
  /** How many lines of tasks there are; fewer than tasks if they would be lower than a pixel. */
  lines: number;
  lineHeight: number;
  /** Left edge of the spread of each task; the plot's right edge if it does not fit. */
  spreadX: number;
  /** Top of the spread of each step. */
  spreadY: number;
}

export const SPREAD_WIDTH = 132;
export const SPREAD_HEIGHT = 52;
const GAP = 10;
const AXIS = 20;
const RUNS = 18;
const MARGIN = 12;
const MAX_LINE = 20;
const MOST_HEIGHT = 420;
const LEAST_HEIGHT = 60;
/** Narrower ones have no room for the spread of each task. */
const NARROW = 620;

export function geometryOf({ tasks, runs }: Grid, width: number, labels: number): Geometry {
  const exact = Math.min(MAX_LINE, Math.max(MOST_HEIGHT / tasks.length, LEAST_HEIGHT / tasks.length));
  const lineHeight = exact > 3 ? Math.floor(exact) : Math.max(exact, 1);
  const lines = Math.min(tasks.length, Math.floor(MOST_HEIGHT / lineHeight));
  const x = labels + MARGIN + 6;
  const hasSpread = width >= NARROW;
  const right = hasSpread ? width - MARGIN - SPREAD_WIDTH : width - MARGIN;
  const y = runs.length > 1 ? RUNS : 4;
  const plot = {
    x,
    y,
    width: Math.max(right - (hasSpread ? GAP : 0) - x, 40),
    height: Math.round(lines * lineHeight),
  };
  const spreadY = y + plot.height + AXIS;
  return {
    width,
    height: spreadY + SPREAD_HEIGHT + 6,
    plot,
    lines,
    lineHeight,
    spreadX: hasSpread ? right : plot.x + plot.width,
    spreadY,
  };
}

/** The left edge of a column, fractions included. */
export function columnX({ plot }: Geometry, range: Range, column: number): number {
  return plot.x + ((column - range.from) / (range.to - range.from)) * plot.width;
}

/** The top of a task's line. */
export function taskY({ plot, lines, lineHeight }: Geometry, tasks: number, task: number): number {
  return plot.y + Math.floor((task * lines) / tasks) * lineHeight;
}

/** The column at a position, fractions included; may be outside the range. */
export function columnAt({ plot }: Geometry, range: Range, x: number): number {
  return range.from + ((x - plot.x) / plot.width) * (range.to - range.from);
}

/** The cell shown at a position, by the cells of all pixels; null outside the map and for missing cells. */
export function cellAt(
  geometry: Geometry,
  { tasks, step }: Grid,
  range: Range,
  cells: Int32Array,
  x: number,
  y: number,
): Cell | null {
  const { plot, lines, lineHeight } = geometry;
  if (x < plot.x || y < plot.y || x >= plot.x + plot.width || y >= plot.y + plot.height) return null;
  const line = Math.min(Math.floor((y - plot.y) / lineHeight), lines - 1);
  const width = cells.length / lines;
  const pixel = Math.min(Math.floor(((x - plot.x) / plot.width) * width), width - 1);
  const cell = cells[line * width + pixel];
  if (cell >= 0) return { task: Math.floor(cell / step.length), column: cell % step.length };
  const [column] = span(pixel, width, range);
  return { task: span(line, lines, { from: 0, to: tasks.length })[0], column };
}
