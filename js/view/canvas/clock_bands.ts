/** The band around the cursor in lanes of another clock: the possible times on the first task's clock. */

import { clockBand, commonClock } from "../../model/lanes/clock_bounds";
import type { Item } from "../../model/lanes/layout";
import type { Clock, Lane } from "../../model/types";
import type { Store } from "../../state/store";
import type { Tokens } from "../../ui/theme";
import type { Surface } from "./surface";

export function drawClockBands(surface: Surface, store: Store, tokens: Tokens, cursor: number): void {
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
