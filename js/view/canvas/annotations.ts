/** Draws the targets of annotations: lines at times (one per flag), edges of ranges, outlines of events. */

import { type Annotation, NEAR_PX, placeFlags } from "../../model/annotations";
import { entryOfEvent } from "../../model/lod/merged";
import { xAt } from "../../model/viewport";
import { shownAnnotations } from "../../state/annotations";
import type { Store } from "../../state/store";
import type { Tokens } from "../../ui/theme";
import type { Surface } from "./surface";

/** Height of a bar, and the corner that shows that it is annotated (CSS px). */
const BAR = 15;
const CORNER = 6;

export function drawAnnotations(surface: Surface, store: Store, tokens: Tokens): void {
  const shown = shownAnnotations(store);
  const flags = placeFlags(shown, store.viewport, surface.width);
  const sharing = new Set(flags.flatMap(({ annotations }) => annotations.slice(1)));
  for (const annotation of shown) {
    const hasLine = !sharing.has(annotation);
    if (annotation.event !== null) drawEvent(surface, store, tokens, annotation.event, hasLine);
    else drawTimes(surface, store, tokens, annotation, hasLine);
  }
}

function drawTimes(
  surface: Surface,
  store: Store,
  tokens: Tokens,
  { start, end, lanes }: Annotation,
  hasLine: boolean,
): void {
  const { context, width, height } = surface;
  const [x0, x1] = [start, end].map((time) => Math.round(xAt(store.viewport, time, width)));
  if (x1 < 0 || x0 > width) return;
  // Lines of all that share a flag would cover the lanes.
  if (!hasLine && lanes === null && x1 - x0 < NEAR_PX) return;
  const [left, right] = [Math.max(x0, -2), Math.min(x1, width + 2)];
  context.fillStyle = tokens.note;
  const fill = (top: number, tall: number) => {
    context.globalAlpha = 0.1;
    if (right > left) context.fillRect(left, top, right - left, tall);
    context.globalAlpha = 0.9;
    for (const x of x1 > x0 ? [x0, x1] : [x0]) context.fillRect(x, top, 1, tall);
  };
  if (lanes === null) fill(0, height);
  else {
    for (const lane of lanes) {
      const item = store.placement.lane(lane);
      if (item) fill(item.y - store.scroll, item.height);
    }
    context.globalAlpha = 0.9;
    context.fillRect(left, 0, Math.max(right - left, 1), 2);
  }
  context.globalAlpha = 1;
}

/** An outline with a corner of its own, and a line up to the flag. */
function drawEvent(
  { context, width }: Surface,
  store: Store,
  tokens: Tokens,
  event: number,
  hasLine: boolean,
): void {
  const id = entryOfEvent(store.drawn, event);
  const top = id === null ? null : store.placement.top(id);
  if (id === null || top === null) return;
  const x0 = xAt(store.viewport, store.drawn.start[id], width);
  const x1 = xAt(store.viewport, store.end(id), width);
  if (x1 < 0 || x0 > width) return;
  const y = top - store.scroll + 1;
  const left = Math.max(Math.round(x0), -2);
  const right = Math.max(Math.min(x1, width + 2) - 1, left + 2);
  context.fillStyle = context.strokeStyle = tokens.note;
  context.lineWidth = 1.5;
  context.strokeRect(left - 0.5, y - 0.5, right - left + 1, BAR + 1);
  const corner = Math.min(CORNER, right - left);
  context.beginPath();
  context.moveTo(left, y);
  context.lineTo(left + corner, y);
  context.lineTo(left, y + corner);
  context.fill();
  context.globalAlpha = 0.55;
  if (x0 >= 0 && hasLine) context.fillRect(left - 1, 0, 1, Math.max(y, 0));
  context.globalAlpha = 1;
}
