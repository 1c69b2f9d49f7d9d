/** A filled line in steps, as highest and lowest value within each pixel. */

import { firstAbove } from "../../model/lod/bisect";
import type { StepLine } from "../../model/types";
import { xAt } from "../../model/viewport";
import type { Store } from "../../state/store";
import { makePath, type Surface } from "./surface";

const ALPHA = 0.28;

/** How to draw a line: `y` gives the height of a value, and `end` is when the line ends (ns). */
interface Style {
  y: (level: number) => number;
  colour: string;
  end: number;
  /** Whether dips within a pixel show as well. */
  hasDips: boolean;
}

export function drawStepLine(
  surface: Surface,
  { viewport }: Store,
  { times, levels }: StepLine,
  { y, colour, end, hasDips }: Style,
): void {
  const { context, width } = surface;
  if (times.length === 0) return;
  const { start } = viewport;
  const from = xAt(viewport, times[0], width);
  const first = Math.max(Math.ceil(from), 0);
  // A little further than can be seen, where the curve comes down.
  const last = Math.min(xAt(viewport, end, width), width + 2);
  if (first > last) return;
  const highs = makePath(surface);
  const lows = makePath(surface);
  let at = Math.max(firstAbove(times, start) - 1, 0);
  for (const pen of [highs, lows]) pen.moveTo(from < 0 ? -2 : first, y(0));
  for (let x = first; x < last; ) {
    let high = levels[at] ?? 0;
    let low = high;
    for (const pen of [highs, lows]) pen.lineTo(x, y(high));
    for (const until = start + (++x / width) * (viewport.end - start); times[at + 1] < until; ) {
      high = Math.max(high, levels[++at]);
      low = Math.min(low, levels[at]);
    }
    highs.lineTo(x - 0.5, y(high));
    lows.lineTo(x - 0.5, y(low));
  }
  for (const pen of [highs, lows]) pen.lineTo(last, y(0));
  context.fillStyle = context.strokeStyle = colour;
  context.lineWidth = 1;
  for (const pen of hasDips ? [highs, lows] : [highs]) {
    context.globalAlpha = hasDips ? ALPHA / 2 : ALPHA;
    context.fill(pen);
    context.globalAlpha = 1;
    context.stroke(pen);
  }
}
