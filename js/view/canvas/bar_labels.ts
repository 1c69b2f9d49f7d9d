/** Labels on the bars, and the hatching of the wait of a transfer. */

import { withoutControls } from "../../model/format/bidi";
import { shorten } from "../../model/format/shorten";
import { waitColour } from "../../model/paint/palette";
import { xAt } from "../../model/viewport";
import type { Store } from "../../state/store";
import type { Tokens } from "../../ui/theme";
import { type Surface, tiled } from "./surface";
import { eachVisibleRow, eachWideBar } from "./visible_rows";

const FONT_SIZE = 10.5;
/** Narrower bars carry no name. */
const MIN_LABEL_PX = 22;
const PADDING = 4;

export class Names {
  /** Widths of texts in the bars' font; measuring costs ten times as much as drawing. */
  readonly #widths = new Map<string, number>();
  #font = "";

  draw(surface: Surface, store: Store, tokens: Tokens): void {
    const { context } = surface;
    const { drawn, painting, viewport } = store;
    const { shade } = painting;
    context.font = `${FONT_SIZE}px ${tokens.font}`;
    if (context.font !== this.#font) {
      this.#widths.clear();
      this.#font = context.font;
    }
    context.textBaseline = "alphabetic";
    const wait = drawn.wait;
    const pattern = wait && hatch(context, store, tokens);
    eachVisibleRow(store, (row, top) => {
      eachWideBar(store, row, wait ? 4 : MIN_LABEL_PX, (id, x0, x1) => {
        const dimmed = shade[id] >= 128;
        const left = Math.max(x0, 0);
        const right = Math.min(x1 - 1, surface.width);
        // In a folded lane a bar can be the rest of an event that began earlier.
        const split = Math.max(xAt(viewport, drawn.start[id] + (wait?.[id] ?? 0), surface.width), x0);
        if (pattern && split - x0 >= 2) {
          context.fillStyle = pattern;
          context.globalAlpha = dimmed ? 0.3 : 1;
          // On whole device pixels, like the raster under it.
          const from = Math.max(Math.floor(x0 * surface.ratio) / surface.ratio, -8);
          const to = Math.round(Math.min(split, x1 - 1, surface.width + 8) * surface.ratio) / surface.ratio;
          context.fillRect(from, top, Math.max(to - from, 0), 15);
        }
        // The name stands in the wider part, waiting or moving: across the border it could not be read.
        const inWait = split - left > right - split;
        const room = split <= left ? [left, right] : inWait ? [left, Math.min(split, right)] : [split, right];
        const width = room[1] - room[0];
        if (width >= MIN_LABEL_PX) {
          context.fillStyle =
            dimmed || (inWait && split > left) ? tokens.text : store.painting.paints.text[shade[id] & 127];
          context.globalAlpha = dimmed ? 0.45 : 1;
          this.write(context, drawn.names.get(drawn.name[id]), room[0], room[1], top + 11);
        }
        context.globalAlpha = 1;
      });
    });
  }

  /** Write as much of a name as fits between `left` and `right`, in the font and colour that are set. */
  write(
    context: CanvasRenderingContext2D,
    name: string,
    left: number,
    right: number,
    baseline: number,
  ): void {
    const text = this.#fit(context, barName(name), right - left - 2 * PADDING);
    if (text) context.fillText(text, (left + right - this.#width(context, text)) / 2, baseline);
  }

  #width(context: CanvasRenderingContext2D, text: string): number {
    let width = this.#widths.get(text);
    if (width === undefined) {
      if (this.#widths.size > 20_000) this.#widths.clear();
      width = context.measureText(text).width;
      this.#widths.set(text, width);
    }
    return width;
  }

  /** `name` shortened until it is at most `room` CSS pixels wide; "" when nothing readable fits. */
  #fit(context: CanvasRenderingContext2D, name: string, room: number): string {
    const glyph = this.#width(context, "dbpqaouk") / 8;
    if (name.length * glyph <= room * 2 && this.#width(context, name) <= room) return name;
    for (let columns = Math.floor((room / glyph) * 1.15); columns >= 3; columns--) {
      const text = shorten(name, columns);
      if (this.#width(context, text) <= room) return text;
    }
    return "";
  }
}

/** TensorFlow names a tensor that crosses devices by its node and a number, which is useless on a bar. */
function barName(name: string): string {
  return withoutControls(name).replace(/\/_\d+$/, "");
}

/** The hatching that marks waiting in addition to its colour. */
export function hatch(
  context: CanvasRenderingContext2D,
  store: Store,
  tokens: Tokens,
): CanvasPattern | string {
  // With colours by op or device, waiting has no colour of its own.
  const isByKind = store.host.get("color_by") === "kind";
  const wait = isByKind ? waitColour(store.painting.theme) : tokens.muted;
  return tiled(context, 7, (pen) => {
    pen.fillStyle = tokens.ground;
    pen.fillRect(0, 0, 7, 7);
    pen.globalAlpha = isByKind ? 0.4 : 0.12;
    pen.fillStyle = wait;
    pen.fillRect(0, 0, 7, 7);
    // Text on it should be easy to read.
    pen.globalAlpha = isByKind ? 1 : 0.4;
    pen.strokeStyle = wait;
    pen.lineWidth = 2.6;
    pen.beginPath();
    for (const shift of [-7, 0, 7]) {
      pen.moveTo(shift - 1, 8);
      pen.lineTo(shift + 8, -1);
    }
    pen.stroke();
  });
}
