/** Draws the heat map around its cells: axes, names, marks, spreads. */

import type { Cell, Grid, Metric } from "../model/fleet/grid";
import type { Range } from "../model/fleet/pixels";
import type { Spread } from "../model/fleet/spread";
import { formatCell } from "../model/format/column_units";
import { cutEnd } from "../model/format/shorten";
import type { Tokens } from "../ui/theme";
import { columnX, type Geometry, SPREAD_HEIGHT, SPREAD_WIDTH, taskY } from "./geometry";
import type { Picture } from "./picture";

/** Everything that the heat map is drawn from: its cells, the part in view, and the marks. */
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

const LINE = 12;
const TICK_GAP = 44;
const LABEL_GAP = 8;

export function draw(context: CanvasRenderingContext2D, shown: Shown, ratio: number): void {
  const { geometry, tokens, picture } = shown;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = tokens.ground;
  context.fillRect(0, 0, geometry.width, geometry.height);
  context.font = `11px ${tokens.font}`;
  context.textBaseline = "middle";
  const { plot } = geometry;
  context.putImageData(picture.image, Math.round(plot.x * ratio), Math.round(plot.y * ratio));
  drawTasks(context, shown);
  drawSteps(context, shown);
  drawSpreadOfSteps(context, shown);
  if (geometry.spreadX > plot.x + plot.width) drawSpreadOfTasks(context, shown);
  drawMarks(context, shown);
}

/** As many names as there is room for; each at its line. */
function drawTasks(context: CanvasRenderingContext2D, { grid, geometry, tokens, cell }: Shown): void {
  const { plot, lineHeight } = geometry;
  const every = Math.max(1, Math.ceil((LINE * grid.tasks.length) / plot.height));
  context.textAlign = "right";
  grid.tasks.forEach((name, task) => {
    const isCurrent = cell?.task === task;
    const near = cell !== null && Math.abs(task - cell.task) * (plot.height / grid.tasks.length) < LINE;
    if (!isCurrent && every > 1 && (task % every > 0 || near)) return;
    context.fillStyle = isCurrent ? tokens.text : tokens.muted;
    const y = taskY(geometry, grid.tasks.length, task) + lineHeight / 2;
    context.fillText(name, plot.x - 6, y, plot.x - 10);
  });
}

/** Numbers of steps below, and runs above with a line where each begins. */
function drawSteps(context: CanvasRenderingContext2D, shown: Shown): void {
  const { grid, range, geometry, tokens } = shown;
  const { plot } = geometry;
  const bottom = plot.y + plot.height;
  const per = plot.width / (range.to - range.from);
  const every = niceStep(TICK_GAP / per);
  context.textAlign = "center";
  context.fillStyle = tokens.muted;
  context.strokeStyle = tokens.muted;
  context.lineWidth = 1;
  let free = Number.NEGATIVE_INFINITY;
  for (let column = Math.ceil(range.from); column < range.to; column++) {
    if (grid.step[column] % every > 0) continue;
    const x = columnX(geometry, range, column) + per / 2;
    const text = String(grid.step[column]);
    const half = context.measureText(text).width / 2;
    if (x - half < free + LABEL_GAP) continue;
    free = x + half;
    line(context, x, bottom + 1, x, bottom + 4);
    context.fillText(text, x, bottom + 11);
  }
  if (grid.runs.length > 1) drawRuns(context, shown);
}

/** The name of each run, and a line at its start. */
function drawRuns(context: CanvasRenderingContext2D, { grid, range, geometry, tokens }: Shown): void {
  const { plot } = geometry;
  context.textAlign = "left";
  context.fillStyle = tokens.muted;
  context.strokeStyle = tokens.muted;
  const labels = runLabels(grid, range, geometry, (text) => context.measureText(text).width);
  labels.forEach(({ x, text }, at) => {
    context.fillText(text, x, plot.y - 9);
    if (at > 0) line(context, x - 3, text ? plot.y - 14 : plot.y, x - 3, plot.y + plot.height);
  });
}

/** The cell that is current, the one under the pointer, the step since which ops are compared, the part dragged over. */
function drawMarks(context: CanvasRenderingContext2D, shown: Shown): void {
  const { range, geometry, tokens, cell, hovered, dragged, since } = shown;
  const { plot } = geometry;
  const inView = (column: number) => column >= range.from && column < range.to;
  if (since !== null && inView(since)) {
    const x = columnX(geometry, range, since);
    context.strokeStyle = tokens.selection;
    context.setLineDash([3, 3]);
    line(context, x, plot.y, x, geometry.spreadY + SPREAD_HEIGHT);
    context.setLineDash([]);
    const label = "ops since";
    const wide = context.measureText(label).width + 6;
    const left = x + wide > plot.x + plot.width ? x - wide - 1 : x + 2;
    context.fillStyle = tokens.ground;
    context.fillRect(left, geometry.spreadY, wide, LINE + 2);
    context.fillStyle = tokens.text;
    context.textAlign = "left";
    context.fillText(label, left + 3, geometry.spreadY + LINE / 2 + 1);
  }
  if (dragged) {
    const [left, right] = dragged.map((column) => columnX(geometry, range, column));
    context.fillStyle = tokens.accent;
    context.globalAlpha = 0.18;
    context.fillRect(Math.min(left, right), plot.y, Math.abs(right - left), plot.height);
    context.globalAlpha = 1;
  }
  if (hovered && inView(hovered.column)) outline(context, shown, hovered, tokens.muted, 1);
  if (cell && inView(cell.column)) outline(context, shown, cell, tokens.selection, 2);
}

/** A frame around a cell, large enough to be seen however small the cell is. */
function outline(
  context: CanvasRenderingContext2D,
  shown: Shown,
  cell: Cell,
  colour: string,
  width: number,
): void {
  const { grid, range, geometry, tokens } = shown;
  const x = columnX(geometry, range, cell.column);
  const y = taskY(geometry, grid.tasks.length, cell.task);
  const wide = Math.max(columnX(geometry, range, cell.column + 1) - x, 5);
  const high = Math.max(geometry.lineHeight, 5);
  const left = x + (columnX(geometry, range, cell.column + 1) - x - wide) / 2;
  const top = y + (geometry.lineHeight - high) / 2;
  context.strokeStyle = tokens.ground;
  context.lineWidth = width + 2;
  context.strokeRect(left - 1, top - 1, wide + 1, high + 1);
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.strokeRect(left - 1, top - 1, wide + 1, high + 1);
}

/** The first of 1, 2, 5, 10, ... that is not below `least`. */
function niceStep(least: number): number {
  if (least <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
}

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

/** Over the tasks of each step: a band from the 5th to the 95th percentile, the median, the largest. */
function drawSpreadOfSteps(context: CanvasRenderingContext2D, shown: Shown): void {
  const { grid, range, geometry, tokens, bySteps, extent, metric } = shown;
  const { plot, spreadY } = geometry;
  const [least, most] = extent;
  const y = (value: number) =>
    spreadY +
    SPREAD_HEIGHT -
    2 -
    (Math.min(value - least, most - least) / (most - least || 1)) * (SPREAD_HEIGHT - 6);
  context.strokeStyle = tokens.line;
  line(context, plot.x, spreadY + SPREAD_HEIGHT, plot.x + plot.width, spreadY + SPREAD_HEIGHT);
  context.textAlign = "right";
  context.fillStyle = tokens.muted;
  context.fillText(formatCell(most, metric.unit), plot.x - 6, spreadY + 6, plot.x - 10);
  context.fillText(formatCell(least, metric.unit), plot.x - 6, spreadY + SPREAD_HEIGHT - 4, plot.x - 10);
  const per = plot.width / (range.to - range.from);
  const width = Math.max(per, 1);
  const isOne = grid.tasks.length === 1;
  for (let column = Math.floor(range.from); column < range.to; column++) {
    const { count, low, median, high, most: top } = bySteps[column];
    if (count === 0) continue;
    const x = columnX(geometry, range, column);
    context.fillStyle = tokens.accent;
    context.globalAlpha = 0.28;
    if (!isOne) context.fillRect(x, y(high), width, Math.max(y(low) - y(high), 1));
    context.globalAlpha = 1;
    context.fillRect(x, y(median) - 0.75, width, 1.5);
    context.fillStyle = tokens.text;
    const [middle, half] = [x + width / 2, Math.min(width / 2, 1)];
    if (!isOne && top <= most) context.fillRect(middle - half, y(top) - 1, 2 * half, 2);
    if (top > most) arrow(context, middle, spreadY);
  }
}

/** Over the steps of each task: a line from the 5th to the 95th percentile, thick between the quarters, the median. */
function drawSpreadOfTasks(context: CanvasRenderingContext2D, shown: Shown): void {
  const { grid, geometry, tokens, byTasks, metric, extent } = shown;
  const { plot, spreadX, lineHeight } = geometry;
  const [least, most] = [
    extent[0],
    Math.max(...byTasks.map(({ high }) => (Number.isNaN(high) ? extent[0] : high))),
  ];
  const right = spreadX + SPREAD_WIDTH - 8;
  const x = (value: number) =>
    spreadX +
    4 +
    (Math.min(Math.max(value - least, 0), most - least) / (most - least || 1)) * (right - spreadX - 4);
  const thick = Math.max(Math.min(lineHeight * 0.5, 6), 1);
  byTasks.forEach(({ count, low, quarter, median, threeQuarters, high }, task) => {
    if (count === 0) return;
    const middle = taskY(geometry, grid.tasks.length, task) + lineHeight / 2;
    context.fillStyle = tokens.accent;
    context.globalAlpha = 0.45;
    context.fillRect(x(low), middle - 0.5, Math.max(x(high) - x(low), 1), 1);
    context.fillRect(x(quarter), middle - thick / 2, Math.max(x(threeQuarters) - x(quarter), 1), thick);
    context.globalAlpha = 1;
    context.fillStyle = tokens.text;
    context.fillRect(x(median) - 0.75, middle - thick / 2, 1.5, thick);
  });
  const bottom = plot.y + plot.height;
  context.strokeStyle = tokens.line;
  line(context, spreadX + 4, bottom, right, bottom);
  context.fillStyle = tokens.muted;
  context.textAlign = "left";
  context.fillText(formatCell(least, metric.unit), spreadX + 4, bottom + 11);
  context.textAlign = "right";
  context.fillText(formatCell(most, metric.unit), right, bottom + 11);
}

/** Marks a value beyond the end of the axis. */
function arrow(context: CanvasRenderingContext2D, x: number, y: number): void {
  context.beginPath();
  context.moveTo(x - 4, y + 5);
  context.lineTo(x, y - 1);
  context.lineTo(x + 4, y + 5);
  context.fill();
}

/** A line that is sharp on screens of one pixel a point. */
export function line(
  context: CanvasRenderingContext2D,
  x1: number,
  y1: number,
  x2: number,
  y2: number,
): void {
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
  context.lineTo(Math.round(x2) + 0.5, Math.round(y2) + 0.5);
  context.stroke();
}
