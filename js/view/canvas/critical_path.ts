/** The critical path in the picture: a line through its events. */

import { firstAbove } from "../../model/lod/bisect";
import { xAt } from "../../model/viewport";
import { isCritical } from "../../state/critical_path";
import type { Store } from "../../state/store";
import type { Tokens } from "../../ui/theme";
import { makePath, type Surface } from "./surface";

/** A line through the path's events in the order of time, up and down from lane to lane. */
export function drawPath(surface: Surface, store: Store, tokens: Tokens): void {
  const { context, width } = surface;
  const waiting = store.details?.waiting;
  // Aligned steps have times of their own.
  if (!waiting?.path || !isCritical(store) || store.aligned) return;
  const { start, end, event, kind } = waiting.path;
  const { viewport } = store;
  const x = (time: number) => Math.min(Math.max(xAt(viewport, time, width), -9), width + 9);
  const pixel = (viewport.end - viewport.start) / width;
  const pen = makePath(surface);
  let isDown = false;
  let at = firstAbove(end, viewport.start);
  for (; at < start.length && start[at] < viewport.end; ) {
    const top = event[at] < 0 || kind[at] >= waiting.runs ? null : store.placement.top(event[at]);
    // No arrow leads from one step's path to the next one's, or to folded lanes.
    if (start[at] !== end[at - 1]) isDown = false;
    if (top !== null) {
      // Under the names on the bars.
      const y = top - store.scroll + 15;
      if (isDown) pen.lineTo(x(start[at]), y);
      else pen.moveTo(x(start[at]), y);
      pen.lineTo(x(end[at]), y);
      isDown = true;
    } else if (kind[at] < waiting.runs) isDown = false;
    // Pieces that end before the next pixel are indistinguishable.
    at = Math.max(at + 1, firstAbove(end, end[at] + pixel / 2));
  }
  for (const [colour, line] of [
    [tokens.ground, 4],
    [tokens.selection, 1.8],
  ] as const) {
    context.strokeStyle = colour;
    context.lineWidth = line;
    context.stroke(pen);
  }
}
