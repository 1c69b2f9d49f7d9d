/** The legend, below the lanes and in pictures: the meaning of the colours. */

import { withoutControls } from "../../model/format/bidi";
import { meaningOf } from "../../model/glossary";
import { activityColour, activityLabel } from "../../model/paint/palette";
import type { Store } from "../../state/store";
import type { Tokens } from "../../ui/theme";
import { hatch } from "./bar_labels";
import { TENSOR_COLOURS } from "./tensors";

export const LEGEND_LINE = 24;
export const MARGIN = 12;
const SWATCH = 10;
export const GAP = 16;

const PREDICTED =
  "Times are predicted, not recorded: rules under the lanes are dashed, and so are outlines of events whose durations differ from the recorded ones";

interface Entry {
  label: string;
  /** Null for waiting, which is hatched; empty for predicted times, which are dashed. */
  css: string | null;
  activity?: string;
  meaning?: string | undefined;
}

/** An entry of the legend of a picture, and its position. */
export interface Placed extends Entry {
  x: number;
  line: number;
}

/** The legend's entries, those of several timelines once. */
export function legendOf(stores: readonly Store[]): Entry[] {
  const { theme } = stores[0].painting;
  const some = (has: (store: Store) => unknown, ...entries: Entry[]) => (stores.some(has) ? entries : []);
  const tensors = TENSOR_COLOURS.map((name) => {
    const label = activityLabel(name);
    return { label, css: activityColour(name, theme), meaning: meaningOf(label) };
  });
  const all: Entry[] = [
    ...stores.flatMap(({ painting }) => painting.paints.legend),
    ...some(({ lanes }) => lanes.tensors, ...tensors),
    ...some(({ drawn }) => drawn.wait, { label: "waiting", css: null, meaning: "Time spent waiting" }),
    ...some(({ drawn }) => drawn.predicted, { label: "predicted", css: "", meaning: PREDICTED }),
  ];
  return [...new Map(all.map((entry) => [`${entry.css} ${entry.label}`, entry])).values()];
}

/** Entries by name; activities whose labels begin with the same word, such as "copy H2D" and "copy D2H", share it. */
export function families(entries: readonly Entry[]): [string, Entry[]][] {
  const named = new Map<string, Entry[]>();
  for (const entry of entries) {
    const name = entry.activity ? entry.label.split(" ")[0] : `${entry.css} ${entry.label}`;
    named.set(name, [...(named.get(name) ?? []), entry]);
  }
  return [...named];
}

/** The entries in as many lines as they need. */
export function placeLegend(
  pen: CanvasRenderingContext2D,
  stores: readonly Store[],
  width: number,
): Placed[] {
  let x = MARGIN;
  let line = 0;
  return legendOf(stores).map((each) => {
    const entry = { ...each, label: withoutControls(each.label) };
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
