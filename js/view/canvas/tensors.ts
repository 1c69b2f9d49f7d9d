/** The buffers of an allocator in the picture: a bar for each, those of tensors apart from other ones. */

import type { TensorRow } from "../../model/lanes/tensor_rows";
import type { TensorsItem } from "../../model/lanes/tracks";
import { readable, SHADES, shadesOf, type Theme } from "../../model/paint/palette";
import { xAt } from "../../model/viewport";
import type { Track } from "../../model/wire/memory";
import { digitlessHash } from "../../model/wire/string_table";
import type { Store } from "../../state/store";
import { endOf } from "../../state/tensors";
import type { Tokens } from "../../ui/theme";
import type { Names } from "./bar_labels";
import { type Surface, tiled } from "./surface";
import { eachWideBar } from "./visible_rows";

/** The palette's entries for outputs and for other memory of ops. */
export const TENSOR_COLOURS = ["tensor", "scratch"] as const;
/** Lower bars carry no name. */
const LABELLED_PX = 15;
const MIN_LABEL_PX = 22;

const shades = new WeakMap<Track, Uint8Array>();

/** The paint of each buffer: its colour by whether it is an output, its shade by its name like other bars. */
export function tensorShade(track: Track): Uint8Array {
  let shade = shades.get(track);
  if (!shade) {
    shade = Uint8Array.from(track.sizes, (_, at) => {
      const isScratch = track.role(at) === "temporary" || track.role(at) === "kept";
      return (isScratch ? SHADES : 0) + (digitlessHash(track.name(at)) % SHADES);
    });
    shades.set(track, shade);
  }
  return shade;
}

export const tensorColours = (theme: Theme) => TENSOR_COLOURS.flatMap((name) => shadesOf(name, theme));

/** Call `visit` for each row of bars in view, with its top in CSS pixels from the picture's. */
function eachTensorRow(store: Store, visit: (item: TensorsItem, row: TensorRow, top: number) => void): void {
  for (const item of store.arrangement.items) {
    if (item.type !== "tensors") continue;
    for (const row of item.tensors.rows) {
      const top = item.y - store.scroll + row.top;
      if (top < store.height && top + row.height > 0) visit(item, row, top);
    }
  }
}

/** The names on bars with room for them, and the hatching of estimated bars. */
export function drawTensorNames({ context, width }: Surface, store: Store, names: Names): void {
  const pattern = hatching(context, store.painting.theme);
  const text = TENSOR_COLOURS.map((name) => readable(shadesOf(name, store.painting.theme)));
  eachTensorRow(store, ({ track }, { row, height }, top) => {
    if (track.estimated) {
      context.fillStyle = pattern;
      eachWideBar(store, row, 2, (_, x0, x1) =>
        context.fillRect(Math.max(x0, -8), top, Math.min(x1 - 1, width + 8) - Math.max(x0, -8), height),
      );
    }
    if (height < LABELLED_PX) return;
    const shade = tensorShade(track);
    eachWideBar(store, row, MIN_LABEL_PX, (at, x0, x1) => {
      context.fillStyle = text[Math.floor(shade[at] / SHADES)];
      names.write(context, track.name(at), Math.max(x0, 0), Math.min(x1 - 1, width), top + 11);
    });
  });
}

/** Lines away from the ground's colour and from that of the names over them, which can be read as well as without. */
function hatching(context: CanvasRenderingContext2D, theme: Theme): CanvasPattern | string {
  return tiled(context, 6, (pen) => {
    pen.globalAlpha = 0.32;
    pen.strokeStyle = theme === "light" ? "#000" : "#fff";
    pen.lineWidth = 2;
    pen.beginPath();
    for (const shift of [-6, 0, 6]) {
      pen.moveTo(shift - 1, 7);
      pen.lineTo(shift + 7, -1);
    }
    pen.stroke();
  });
}

/** Outline the bar under the pointer and those of the selected events. */
export function outlineTensors(surface: Surface, store: Store, tokens: Tokens): void {
  const { hovered, selected } = { hovered: store.tensor, selected: selectedEvents(store) };
  if (!hovered && !selected.size) return;
  eachTensorRow(store, ({ track }, { row, height }, top) => {
    if (selected.size)
      for (const at of row.ids)
        if (selected.has(track.events[at] - 1))
          outline(surface, store, tokens.selection, 2, track, at, top, height);
    if (hovered?.track === track && row.ids.includes(hovered.at))
      outline(surface, store, tokens.accent, 1, track, hovered.at, top, height);
  });
}

function selectedEvents(store: Store): Set<number> {
  const selection = store.host.get("selection");
  return new Set(selection && "events" in selection ? selection.events : []);
}

function outline(
  { context, width }: Surface,
  { viewport }: Store,
  colour: string,
  line: number,
  track: Track,
  at: number,
  top: number,
  height: number,
): void {
  const left = Math.max(xAt(viewport, track.starts[at], width), -4);
  const right = Math.min(xAt(viewport, endOf({ track, at }), width), width + 4);
  if (right < 0 || left > width) return;
  context.strokeStyle = colour;
  context.lineWidth = line;
  context.strokeRect(left - line / 2, top - line / 2, Math.max(right - left - 1, 1) + line, height + line);
}
