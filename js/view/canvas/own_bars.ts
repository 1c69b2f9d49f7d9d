/** The names on the bars of the user's own tracks, and the outline of the one under the pointer. */

import { barTop } from "../../model/lanes/tracks";
import { readable, shadesOf, type Theme } from "../../model/paint/palette";
import type { Row } from "../../model/types";
import { xAt } from "../../model/viewport";
import type { OwnBars } from "../../model/wire/own_tracks";
import type { Store } from "../../state/store";
import type { Tokens } from "../../ui/theme";
import type { Names } from "./bar_labels";
import type { Surface } from "./surface";
import { eachWideBar } from "./visible_rows";

const BAR = 15;
/** Not of the trace, and so in none of the colours of its events. */
const COLOUR = "none";
/** Narrower bars carry no name. */
const MIN_LABEL_PX = 22;

export const ownColours = (theme: Theme) => shadesOf(COLOUR, theme);

function eachRow(store: Store, visit: (track: OwnBars, row: Row, top: number) => void): void {
  for (const item of store.arrangement.items) {
    if (item.type !== "bars") continue;
    item.rows.forEach((row, index) => {
      const top = item.y - store.scroll + barTop(index);
      if (top < store.height && top + BAR > 0) visit(item.track, row, top);
    });
  }
}

export function drawOwnNames({ context, width }: Surface, store: Store, names: Names): void {
  context.fillStyle = readable(ownColours(store.painting.theme));
  eachRow(store, (track, row, top) => {
    eachWideBar(store, row, MIN_LABEL_PX, (at, x0, x1) => {
      names.write(context, track.names[at], Math.max(x0, 0), Math.min(x1 - 1, width), top + 11);
    });
  });
}

export function outlineBar({ context, width }: Surface, store: Store, tokens: Tokens): void {
  const { bar, viewport } = store;
  if (!bar) return;
  const { track, at } = bar;
  eachRow(store, (own, row, top) => {
    if (own !== track || !row.ids.includes(at)) return;
    const left = Math.max(xAt(viewport, track.starts[at], width), -4);
    const right = Math.min(xAt(viewport, track.starts[at] + track.lengths[at], width), width + 4);
    context.strokeStyle = tokens.accent;
    context.lineWidth = 1;
    context.strokeRect(left - 0.5, top - 0.5, Math.max(right - left - 1, 1) + 1, BAR + 1);
  });
}
