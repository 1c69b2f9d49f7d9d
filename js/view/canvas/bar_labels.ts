/** Labels on the bars, and the hatching of the wait of a transfer. */

import { withoutControls } from "../../model/format/bidi";
import { shorten } from "../../model/format/shorten";
import { moveOf } from "../../model/lod/folded";
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
    const pattern = drawn.wait && hatch(context, store, tokens);
    eachVisibleRow(store, (row, top, height) => {
      eachWideBar(store, row, pattern ? 4 : MIN_LABEL_PX, (id, x0, x1) => {
        const dimmed = shade[id] >= 128;
        // In a folded lane a bar can be a part of an event.
        const within = (ns: number) => Math.min(Math.max(xAt(viewport, ns, surface.width), x0), x1 - 1);
        const [from, to] = pattern ? moveOf(drawn, id).map(within) : [x0, x1 - 1];
        const waits = [
          [x0, from],
          [to, x1 - 1],
        ].filter(([left, right]) => right - left >= 2);
        if (pattern) {
          context.fillStyle = pattern;
          context.globalAlpha = dimmed ? 0.3 : 1;
          // On whole device pixels, like the raster under it.
          const whole = (x: number) => Math.round(x * surface.ratio) / surface.ratio;
          for (const [left, right] of waits) {
            const start = Math.max(
              left === x0 ? Math.floor(x0 * surface.ratio) / surface.ratio : whole(left),
              -8,
            );
            const wide = whole(Math.min(right, surface.width + 8)) - start;
            context.fillRect(start, top, Math.max(wide, 0), height);
          }
        }
        // The name stands in the widest part, waiting or moving: across the border it could not be read.
        const parts = [[from, to], ...waits].map(([a, b]) => [Math.max(a, 0), Math.min(b, surface.width)]);
        const room = parts.reduce((one, other) => (other[1] - other[0] > one[1] - one[0] ? other : one));
        if (room[1] - room[0] >= MIN_LABEL_PX) {
          context.fillStyle =
            dimmed || room !== parts[0] ? tokens.text : store.painting.paints.text[shade[id] & 127];
          context.globalAlpha = dimmed ? 0.45 : 1;
          const baseline = top + height / 2 + 3.5;
          this.write(context, drawn.names.get(drawn.name[id]), room[0], room[1], baseline);
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
    for (let columns = Math.floor((room / glyph) * 1.15); columns > 0; columns--) {
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
