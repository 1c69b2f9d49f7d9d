/** The values of counters in the picture: filled lines in steps, and their height at the cursor. */

import { formatAmount } from "../../model/format/amounts";
import type { CounterItem } from "../../model/lanes/tracks";
import { xAt } from "../../model/viewport";
import { lineIn, valueAt } from "../../model/wire/counters";
import type { Store } from "../../state/store";
import type { Tokens } from "../../ui/theme";
import { flag } from "./flag";
import { drawStepLine } from "./step_line";
import type { Surface } from "./surface";

/** Room above and below the line (CSS px). */
const MARGIN = 4;

/** `y` gives the height of a value in the picture. */
function eachCounter(store: Store, visit: (item: CounterItem, y: (level: number) => number) => void): void {
  for (const item of store.arrangement.items) {
    const top = item.y - store.scroll;
    if (item.type !== "counter" || top + item.height <= 0 || top >= store.height) continue;
    const { least, most } = item.track;
    const base = Math.min(least, 0);
    // Halves, because a sum of extremes may be more than a number holds.
    const scale = Math.max(most, 0) / 2 - base / 2 || 1;
    const room = item.height - 1 - (base < 0 ? 2 : 1) * MARGIN;
    const bottom = top + item.height - 1 - (base < 0 ? MARGIN : 0);
    visit(item, (level) => bottom - ((level / 2 - base / 2) / scale) * room);
  }
}

export function drawCounters(surface: Surface, store: Store, tokens: Tokens): void {
  const { start, end } = store.viewport;
  eachCounter(store, ({ track }, y) => {
    const style = { y, colour: tokens.accent, end: store.run.span, hasDips: true };
    drawStepLine(surface, store, lineIn(track, start, end), style);
  });
}

/** The values at the cursor. */
export function drawValues(surface: Surface, store: Store, tokens: Tokens): void {
  const { cursor, viewport } = store;
  if (cursor === null || cursor > store.run.span) return;
  eachCounter(store, ({ track, y: top, height }) => {
    const value = valueAt(lineIn(track, cursor, cursor), cursor);
    if (Number.isNaN(value)) return;
    const x = xAt(viewport, cursor, surface.width) + 40;
    const bottom = top - store.scroll + height;
    flag(surface, tokens, x, bottom - 20, formatAmount(value, track.unit), tokens.accent, 0);
  });
}
