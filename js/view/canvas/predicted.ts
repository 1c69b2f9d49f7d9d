/** Marks of predicted times: dashed rules under the lanes, dashed outlines of bars whose duration was recorded otherwise. */

import { mix, parseColour, toHex } from "../../model/paint/colour";
import type { Store } from "../../state/store";
import type { Tokens } from "../../ui/theme";
import type { Surface } from "./surface";
import { eachVisibleRow, eachWideBar } from "./visible_rows";

/** CSS pixels drawn and left out. */
const DASH = [4, 3];
/** How much of a rule's colour is not that of the ground. */
const RULE_SHARE = 0.6;
/** Narrower bars have no room for an outline. */
const LEAST = 7;

/** Device pixels drawn and left out of a rule. */
export const dashLengths = (ratio: number) => DASH.map((length) => Math.max(Math.round(length * ratio), 1));

export const dashColour = (tokens: Tokens) =>
  toHex(mix(parseColour(tokens.ground), parseColour(tokens.muted), RULE_SHARE));

/** Outline the bars in view whose durations are not those recorded. */
export function outlineChanged(surface: Surface, store: Store, tokens: Tokens): void {
  const { changed } = store.drawn;
  if (!changed) return;
  const { context, ratio, width } = surface;
  context.strokeStyle = tokens.text;
  context.lineWidth = 1.5;
  context.setLineDash(DASH);
  eachVisibleRow(store, (row, top, height) => {
    eachWideBar(store, row, LEAST, (id, x0, x1) => {
      if (!changed[id]) return;
      // On whole device pixels, like the raster under it; an end out of view has no edge.
      const left = Math.max(Math.floor(x0 * ratio) / ratio, -8);
      const right = Math.round(Math.min(x1 - 1, width + 8) * ratio) / ratio;
      context.strokeRect(left + 0.75, top + 0.75, right - left - 1.5, height - 1.5);
    });
  });
  context.setLineDash([]);
}
