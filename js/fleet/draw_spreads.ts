/** Draws the spread of the steps below the heat map, and that of the tasks to its right. */

import { formatCell } from "../model/format/column_units";
import { columnX, SPREAD_HEIGHT, SPREAD_WIDTH, taskY } from "./geometry";
import type { Shown } from "./shown";

/** Over the tasks of each step: a band from the 5th to the 95th percentile, the median, the largest. */
export function drawSpreadOfSteps(context: CanvasRenderingContext2D, shown: Shown): void {
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
export function drawSpreadOfTasks(context: CanvasRenderingContext2D, shown: Shown): void {
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
