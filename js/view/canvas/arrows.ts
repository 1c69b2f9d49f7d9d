/** Arrows from the producers of the selected event and to its consumers; on request of all selected events. */

import { eventsIn } from "../../model/search/range_statistics";
import { xAt } from "../../model/viewport";
import type { Edge } from "../../model/wire/details";
import type { Store } from "../../state/store";
import type { Tokens } from "../../ui/theme";
import { makePath, type Surface } from "./surface";

/** More arrows than this are an unreadable knot; the panel still lists them all. */
const MAX_ARROWS = 48;
/** So are those of more events. */
const MAX_EVENTS = 300;
/** Ends this near to each other in time (CSS px) are joined from above or below. */
const STEEP = 12;

export function drawArrows(surface: Surface, store: Store, tokens: Tokens): void {
  const { details, drawn, selected, selection, range, flowsOpen } = store;
  const isOne = !flowsOpen || !selection;
  const one = selected === null ? [] : [selected];
  const ids = isOne ? one : range ? eventsIn(drawn, range) : "events" in selection ? selection.events : [];
  const flows = new Map<string, [edge: Edge, from: number, to: number]>();
  for (const id of ids.slice(0, MAX_EVENTS)) {
    if (!details) return;
    for (const edge of details.inputs(id).slice(0, MAX_ARROWS))
      flows.set(`${edge.event} ${id} ${edge.kind}`, [edge, edge.event, id]);
    for (const edge of details.consumers(id).slice(0, MAX_ARROWS))
      flows.set(`${id} ${edge.event} ${edge.kind}`, [edge, id, edge.event]);
  }
  const strong = ({ kind }: Edge) => kind !== "data" && kind !== "control";
  for (const pass of [false, true])
    for (const [edge, from, to] of flows.values())
      if (strong(edge) === pass) arrow(surface, store, tokens, edge, from, to, pass);
}

function arrow(
  surface: Surface,
  store: Store,
  tokens: Tokens,
  { kind }: Edge,
  from: number,
  to: number,
  strong: boolean,
): void {
  const { context } = surface;
  const ends = store.placement.ends(from, to);
  if (!ends) return;
  const start = store.drawn.start[to];
  // A launched event starts while its op is running: an arrow from the op's end would lead back in time.
  const latest =
    kind === "launch" || kind === "flow"
      ? Math.max(start, store.drawn.start[from])
      : Number.POSITIVE_INFINITY;
  const x0 = xAt(store.viewport, Math.min(store.end(from), latest), surface.width);
  const x1 = xAt(store.viewport, start, surface.width);
  const [y0, y1] = ends.map((y) => y - store.scroll);
  if (Math.max(x0, x1) < -60 || Math.min(x0, x1) > surface.width + 60) return;
  if (Math.max(y0, y1) < -20 || Math.min(y0, y1) > surface.height + 20) return;
  const pen = makePath(surface);
  const head = makePath(surface);
  const [above, below] = [from, to].map((event) => store.placement.top(event)! - store.scroll);
  if (Math.abs(x1 - x0) < STEEP && above !== below) {
    // What starts while its cause runs is right above or below it: a line from side to side would be a knot.
    const down = Math.sign(below - above);
    const edge = (top: number, id: number, isLower: boolean) =>
      top + 1 + (isLower ? store.placement.height(id) : 0);
    const [leaves, tip] = [edge(above, from, down > 0), edge(below, to, down < 0)];
    const x = x1 + Math.min((xAt(store.viewport, store.end(to), surface.width) - x1) / 2, 5);
    const middle = (leaves + tip) / 2;
    pen.moveTo(x0, leaves);
    pen.bezierCurveTo(x0, middle, x, middle, x, tip - down * 5);
    head.moveTo(x, tip);
    head.lineTo(x - 4, tip - down * 6.5);
    head.lineTo(x + 4, tip - down * 6.5);
  } else {
    const bend = Math.min(Math.max(Math.abs(x1 - x0) / 2, 14), 60);
    pen.moveTo(x0, y0);
    pen.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 5, y1);
    head.moveTo(x1, y1);
    head.lineTo(x1 - 6.5, y1 - 4);
    head.lineTo(x1 - 6.5, y1 + 4);
  }
  head.closePath();
  // A line of the ground's colour under it keeps an arrow readable over bars of any colour.
  context.strokeStyle = tokens.ground;
  context.lineWidth = strong ? 4 : 3;
  context.globalAlpha = 0.8;
  context.stroke(pen);
  context.strokeStyle = strong ? tokens.selection : tokens.muted;
  context.fillStyle = context.strokeStyle;
  context.lineWidth = strong ? 1.6 : 1;
  context.globalAlpha = strong ? 1 : 0.75;
  context.stroke(pen);
  context.fill(head);
  context.globalAlpha = 1;
}
