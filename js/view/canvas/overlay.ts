/** The layer over the bars that changes with the pointer: selection, hover, range, marks, cursor, arrows. */

import { type Annotation, NEAR_PX, placeFlags } from "../../model/annotations";
import { formatDuration } from "../../model/format/units";
import { clockBand, commonClock } from "../../model/lanes/clock_bounds";
import type { Item } from "../../model/lanes/layout";
import { firstAbove } from "../../model/lod/bisect";
import { entryOfEvent } from "../../model/lod/merged";
import { eventsIn } from "../../model/search/range_statistics";
import type { Clock, Lane } from "../../model/types";
import { xAt } from "../../model/viewport";
import type { Edge } from "../../model/wire/details";
import { shownAnnotations } from "../../state/annotations";
import { isCritical } from "../../state/critical_path";
import type { Store } from "../../state/store";
import type { Tokens } from "../../ui/theme";
import { drawValues } from "./counter_track";
import { flag } from "./flag";
import { drawLevels } from "./memory_track";
import { outlineBar } from "./own_bars";
import { makePath, type Surface } from "./surface";
import { outlineTensors } from "./tensors";
import { eachVisibleRow, eachWideBar } from "./visible_rows";

/** At most this many bars of one name are highlighted; with more they no longer stand out. */
const MAX_HIGHLIGHTS = 4000;

export function drawOverlay(surface: Surface, store: Store, tokens: Tokens): void {
  const { context } = surface;
  context.clearRect(0, 0, surface.width, surface.height);
  if (store.hover) lightSameName(surface, store, tokens, store.hover.id);
  drawRange(surface, store, tokens);
  for (const mark of store.marks) drawMark(surface, store, tokens, mark.start, mark.end);
  if (store.cursor !== null) {
    drawClockBands(surface, store, tokens, store.cursor);
    context.fillStyle = tokens.accent;
    context.globalAlpha = 0.55;
    context.fillRect(Math.round(xAt(store.viewport, store.cursor, surface.width)), 0, 1, surface.height);
    context.globalAlpha = 1;
  }
  drawAnnotations(surface, store, tokens);
  drawLevels(surface, store, tokens);
  drawValues(surface, store, tokens);
  outlineTensors(surface, store, tokens);
  outlineBar(surface, store, tokens);
  outlineMatches(surface, store, tokens);
  drawPath(surface, store, tokens);
  drawArrows(surface, store, tokens);
  const selection = store.selection;
  if (selection && "events" in selection)
    for (const id of selection.events.slice(0, MAX_HIGHLIGHTS))
      outline(surface, store, tokens.selection, id, 2);
  if (store.hover) outline(surface, store, tokens.accent, store.hover.id, 1);
}

/** The place of an event's bar in the picture, at least 1 px wide; null when it is out of view. */
function box(
  surface: Surface,
  store: Store,
  id: number,
): Pick<DOMRect, "x" | "y" | "width" | "height"> | null {
  const top = store.placement.top(id);
  if (top === null) return null;
  const y = top - store.scroll + 1;
  const height = store.placement.height(id);
  if (y + height <= store.covered || y > surface.height) return null;
  const x0 = xAt(store.viewport, store.drawn.start[id], surface.width);
  const x1 = xAt(store.viewport, store.end(id), surface.width);
  if (x1 < -2 || x0 > surface.width + 2) return null;
  const left = Math.max(x0, -4);
  return { x: left, y, width: Math.max(Math.min(x1, surface.width + 4) - left - 1, 1), height };
}

function outline(surface: Surface, store: Store, colour: string, id: number, width: number): void {
  const bar = box(surface, store, id);
  if (!bar) return;
  const { context } = surface;
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.strokeRect(bar.x - width / 2, bar.y - width / 2, bar.width + width, bar.height + width);
}

function lightSameName(surface: Surface, store: Store, tokens: Tokens, id: number): void {
  const { context } = surface;
  const ids = store.derived.sameName(id);
  context.fillStyle = tokens.selection;
  let drawnCount = 0;
  for (
    let at = firstEndingAfter(store, ids, store.viewport.start);
    at < ids.length && drawnCount < MAX_HIGHLIGHTS;
    at++
  ) {
    const other = ids[at];
    if (store.drawn.start[other] > store.viewport.end) {
      if (HAS_KERNEL && store.drawn.rest) continue;
      break;
    }
    const bar =
      other === id || !store.placement.lane(store.drawn.lane[other]) ? null : box(surface, store, other);
    if (!bar) continue;
    drawnCount++;
    context.globalAlpha = store.painting.theme === "dark" ? 0.2 : 0.26;
    context.fillRect(bar.x, bar.y, bar.width, bar.height);
    context.globalAlpha = 0.9;
    context.fillRect(bar.x, bar.y + bar.height, bar.width, 1);
  }
  context.globalAlpha = 1;
}

/** Starts are in order but ends are not: step back over a few that may still reach into view. */
function firstEndingAfter(store: Store, ids: Uint32Array, time: number): number {
  // Entries of a merged trace are not in the order of time, and few.
  if (HAS_KERNEL && store.drawn.rest) return 0;
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (store.drawn.start[ids[middle]] < time) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 64);
}

/** Matches get a light edge where bars are wide enough for one; narrower ones stand out by the others' dimming. */
function outlineMatches(surface: Surface, store: Store, tokens: Tokens): void {
  const mask = store.matches?.mask;
  if (!mask) return;
  const { context } = surface;
  context.fillStyle = tokens.accent;
  eachVisibleRow(store, (row, top, height) => {
    eachWideBar(store, row, 3, (id, x0, x1) => {
      const left = Math.max(x0, 0);
      if (mask[id]) context.fillRect(left, top + height - 1.5, Math.min(x1 - 1, surface.width) - left, 1.5);
    });
  });
}

function drawRange(surface: Surface, store: Store, tokens: Tokens): void {
  const range = store.range;
  if (!range) return;
  const { context } = surface;
  const x0 = xAt(store.viewport, range.start, surface.width);
  const x1 = xAt(store.viewport, range.end, surface.width);
  context.fillStyle = tokens.accent;
  const lanes = range.lanes === null ? null : new Set(range.lanes);
  context.globalAlpha = 0.16;
  if (lanes === null) context.fillRect(x0, 0, x1 - x0, surface.height);
  else
    for (const lane of lanes) {
      const item = store.placement.lane(lane);
      if (item) context.fillRect(x0, item.y - store.scroll, x1 - x0, item.height);
    }
  context.globalAlpha = 1;
  for (const x of [x0, x1]) context.fillRect(Math.round(x) - 0.5, 0, 1, surface.height);
  flag(surface, tokens, (x0 + x1) / 2, 4, formatDuration(range.end - range.start), tokens.accent, x1 - x0);
}

function drawMark(surface: Surface, store: Store, tokens: Tokens, start: number, end: number): void {
  const { context } = surface;
  const x0 = xAt(store.viewport, start, surface.width);
  const x1 = xAt(store.viewport, end, surface.width);
  context.strokeStyle = tokens.text;
  context.lineWidth = 1;
  context.setLineDash([4, 3]);
  context.beginPath();
  for (const x of [x0, x1]) {
    context.moveTo(Math.round(x) + 0.5, 0);
    context.lineTo(Math.round(x) + 0.5, surface.height);
  }
  context.stroke();
  context.setLineDash([]);
  flag(
    surface,
    tokens,
    (x0 + x1) / 2,
    surface.height - 22,
    formatDuration(end - start),
    tokens.text,
    x1 - x0,
  );
}

function drawClockBands(surface: Surface, store: Store, tokens: Tokens, cursor: number): void {
  const { lanes } = store.drawn;
  if (!lanes.some((lane) => lane.clock)) return;
  const { context } = surface;
  context.fillStyle = tokens.accent;
  for (const item of store.arrangement.items) {
    const top = item.y - store.scroll;
    if (top >= surface.height) break;
    const clock = top + item.height > 0 ? clockOf(item, lanes) : null;
    const band = clock && clockBand(clock, cursor, store.viewport, surface.width);
    if (!band) continue;
    const [left, right] = [Math.max(band.from, 0), Math.min(band.to, surface.width)];
    context.globalAlpha = 0.13;
    context.fillRect(left, top, Math.max(right - left, 0), item.height);
    context.globalAlpha = 0.4;
    for (const x of [band.from, band.to]) context.fillRect(Math.round(x) - 0.5, top, 1, item.height);
  }
  context.globalAlpha = 1;
}

/** The clock of a lane's events, or of a folded group's. */
function clockOf(item: Item, lanes: readonly Lane[]): Clock | null {
  if (item.type === "lane") return lanes[item.lane].clock ?? null;
  return item.type === "group" && item.collapsed ? commonClock(item.lanes.map((id) => lanes[id])) : null;
}

/** A line through the path's events in the order of time, up and down from lane to lane. */
function drawPath(surface: Surface, store: Store, tokens: Tokens): void {
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
      const y = top - store.scroll + store.placement.height(event[at]);
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

/** The corner that shows that a bar is annotated (CSS px). */
const CORNER = 6;

function drawAnnotations(surface: Surface, store: Store, tokens: Tokens): void {
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
  context.strokeRect(left - 0.5, y - 0.5, right - left + 1, store.placement.height(id) + 1);
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

/** More arrows than this are an unreadable knot; the panel still lists them all. */
const MAX_ARROWS = 48;
/** So are those of more events. */
const MAX_EVENTS = 300;
/** Ends this near to each other in time (CSS px) are joined from above or below. */
const STEEP = 12;

/** Arrows from the producers of the selected event and to its consumers; on request of all selected events. */
function drawArrows(surface: Surface, store: Store, tokens: Tokens): void {
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
