/** The legend of a picture: the meaning of the colours, in as many lines as it needs. */

import { withoutControls } from "../../model/format/bidi";
import type { Store } from "../../state/store";
import type { Tokens } from "../../ui/theme";
import { hatch } from "./bar_labels";

export const LEGEND_LINE = 24;
export const MARGIN = 12;
const SWATCH = 10;
export const GAP = 16;

/** One entry of the legend, and its position. */
export interface Placed {
  label: string;
  /** Null for waiting, which is hatched; empty for predicted times, which are dashed. */
  css: string | null;
  x: number;
  line: number;
}

/** The legend's entries, those of several timelines once, in as many lines as they need. */
export function placeLegend(
  pen: CanvasRenderingContext2D,
  stores: readonly Store[],
  width: number,
): Placed[] {
  const all = new Map<string, Pick<Placed, "label" | "css">>();
  const add = (label: string, css: string | null) => all.set(`${css} ${label}`, { label, css });
  for (const { painting } of stores)
    for (const { label, css } of painting.paints.legend) add(withoutControls(label), css);
  if (stores.some(({ drawn }) => drawn.wait)) add("waiting", null);
  if (stores.some(({ drawn }) => drawn.predicted)) add("predicted", "");
  let x = MARGIN;
  let line = 0;
  return [...all.values()].map((entry) => {
    const wide = SWATCH + 6 + pen.measureText(entry.label).width;
    if (x > MARGIN && x + wide > width - MARGIN) {
      x = MARGIN;
      line += 1;
    }
    const at = { ...entry, x, line };
    x += wide + GAP;
    return at;
  });
}

export function drawLegend(
  pen: CanvasRenderingContext2D,
  legend: readonly Placed[],
  store: Store,
  tokens: Tokens,
): void {
  for (const { label, css, x, line } of legend) {
    const middle = (line + 0.5) * LEGEND_LINE;
    if (css === "") {
      pen.strokeStyle = tokens.text;
      pen.setLineDash([3, 2]);
      pen.strokeRect(x + 0.5, middle - SWATCH / 2 + 0.5, SWATCH - 1, SWATCH - 1);
      pen.setLineDash([]);
    } else {
      pen.fillStyle = css ?? hatch(pen, store, tokens);
      pen.fillRect(x, middle - SWATCH / 2, SWATCH, SWATCH);
    }
    pen.fillStyle = tokens.text;
    pen.fillText(label, x + SWATCH + 6, middle);
  }
}
