/** The lanes' picture: ground, group strips and the rows of events, drawn by the CPU. */

import type { Tick } from "../../model/format/ticks";
import { rowTop } from "../../model/lanes/layout";
import type { TensorsItem } from "../../model/lanes/tracks";
import { mix, parseColour, toHex } from "../../model/paint/colour";
import { colourTable } from "../../model/paint/palette";
import { rasterRow } from "../../model/paint/raster";
import { NO_STEP, type Row } from "../../model/types";
import { xAt } from "../../model/viewport";
import type { Store } from "../../state/store";
import type { Tokens } from "../../ui/theme";
import { Names } from "./bar_labels";
import { drawCounters } from "./counter_track";
import { drawMemory } from "./memory_track";
import { dashLine, outlineChanged } from "./predicted";
import { RowPixels } from "./row_pixels";
import { abgr, type Surface } from "./surface";
import { drawTensorNames, tensorColours, tensorShade } from "./tensors";

const BAR = 15;
const PREVIEW = 12;

export class Bars {
  #image: ImageData | null = null;
  #pixels = new Uint32Array(0);
  #template = new Uint32Array(0);
  #strip = new Uint32Array(0);
  #codes = new Uint16Array(0);
  #merged = new Uint16Array(0);
  readonly #rowPixels = new RowPixels();
  readonly #names = new Names();

  draw(surface: Surface, store: Store, tokens: Tokens, ticks: readonly Tick[]): void {
    const { element, context, ratio } = surface;
    const { width, height } = element;
    if (this.#image?.width !== width || this.#image.height !== height) {
      this.#image = context.createImageData(width, height);
      this.#pixels = new Uint32Array(this.#image.data.buffer);
      this.#template = new Uint32Array(width);
      this.#strip = new Uint32Array(width);
      this.#codes = new Uint16Array(width);
      this.#merged = new Uint16Array(width);
    }
    const nsPerPixel = (store.viewport.end - store.viewport.start) / width;
    this.#fillTemplate(store, tokens, ticks, surface);
    this.#pixels.fill(0);
    this.#fillRows(0, height, this.#template);
    for (const item of store.arrangement.items) {
      const top = item.y - store.scroll;
      if (top >= surface.height) break;
      if (top + item.height <= 0) continue;
      if (item.type === "group") {
        const strip = abgr(item.level === 0 ? tokens.group : tokens.panel);
        this.#pixels.fill(strip, this.#at(top, ratio), this.#at(top + item.height, ratio));
        if (item.collapsed) this.#preview(store, item.preview, top + 5, strip, nsPerPixel, ratio);
        continue;
      }
      const isLane = item.type === "lane";
      if (isLane)
        item.rows.forEach((row, index) => {
          const y = rowTop(item, index) - store.scroll + 1;
          if (y < surface.height && y + BAR > 0) this.#row(store, row, y, nsPerPixel, ratio);
        });
      if (item.type === "tensors") this.#tensors(store, tokens, item, top, nsPerPixel, ratio);
      const bottom = top + item.height;
      const rule = abgr(isLane && item.pinned ? tokens.line : tokens.grid);
      const line = this.#at(bottom - 1, ratio);
      this.#pixels.fill(rule, line, line + width);
      if (isLane && store.drawn.predicted) dashLine(this.#pixels, line, width, ratio, tokens);
    }
    context.putImageData(this.#image, 0, 0);
    drawMemory(surface, store, tokens);
    drawCounters(surface, store, tokens);
    this.#names.draw(surface, store, tokens);
    outlineChanged(surface, store, tokens);
    drawTensorNames(surface, store, this.#names);
  }

  /** The first pixel of the line at `y` CSS pixels, clamped to the picture. */
  #at(y: number, ratio: number): number {
    const width = this.#template.length;
    return Math.min(Math.max(Math.round(y * ratio) * width, 0), this.#pixels.length);
  }

  /** The background under every row's bars: ground, a grid line per tick, and the steps' boundaries. */
  #fillTemplate(store: Store, tokens: Tokens, ticks: readonly Tick[], surface: Surface): void {
    this.#template.fill(abgr(tokens.ground));
    const mark = (x: number, colour: string) => {
      const pixel = Math.round(x * surface.ratio);
      if (pixel >= 0 && pixel < this.#template.length) this.#template[pixel] = abgr(colour);
    };
    for (const tick of ticks) mark(tick.x, tokens.grid);
    const boundary = toHex(mix(parseColour(tokens.ground), parseColour(tokens.accent), BOUNDARY_SHARE));
    for (const x of stepBoundaries(store)) mark(x, boundary);
  }

  #fillRows(from: number, to: number, line: Uint32Array): void {
    for (let y = from; y < to; y++) this.#pixels.set(line, y * line.length);
  }

  #row(store: Store, row: Row, y: number, nsPerPixel: number, ratio: number): void {
    this.#raster(store, row, nsPerPixel);
    this.#paint(store.painting.colours, y, BAR, ratio, this.#codes, this.#template);
  }

  #tensors(
    store: Store,
    tokens: Tokens,
    item: TensorsItem,
    y: number,
    nsPerPixel: number,
    ratio: number,
  ): void {
    const colours = colourTable(tensorColours(store.painting.theme), tokens.ground);
    for (const { row, top, height } of item.tensors.rows) {
      if (y + top >= store.height || y + top + height <= 0) continue;
      this.#raster(store, row, nsPerPixel, tensorShade(item.track));
      this.#paint(colours, y + top, height, ratio, this.#codes, this.#template);
    }
  }

  /** A collapsed group: in each column what its busiest lane does. */
  #preview(
    store: Store,
    lanes: readonly number[],
    y: number,
    strip: number,
    nsPerPixel: number,
    ratio: number,
  ): void {
    const [codes, merged] = [this.#codes, this.#merged.fill(0)];
    for (const lane of lanes) {
      this.#raster(store, store.derived.folded(lane), nsPerPixel);
      for (let x = 0; x < codes.length; x++) if (codes[x] >> 8 > merged[x] >> 8) merged[x] = codes[x];
    }
    this.#paint(store.painting.colours, y, PREVIEW, ratio, merged, this.#strip.fill(strip));
  }

  /** Take the levels and paints of a row. */
  #raster(store: Store, row: Row, nsPerPixel: number, shade = store.painting.shade): void {
    const codes = this.#codes.fill(0);
    const levels = store.derived.levels(row);
    rasterRow(codes, 0, codes.length, row, levels, store.viewport.start, nsPerPixel, shade);
  }

  /** Paint from `y` down for `height` CSS pixels. */
  #paint(
    colours: Uint32Array,
    y: number,
    height: number,
    ratio: number,
    codes: Uint16Array,
    ground: Uint32Array,
  ): void {
    const [top, bottom] = [y, y + height].map((edge) => Math.round(edge * ratio));
    this.#rowPixels.fill(this.#pixels, top, bottom, codes, ground, colours);
  }
}

/** How much of a boundary's colour is that of the steps on the axis: they are not grid lines. */
const BOUNDARY_SHARE = 0.28;
/** Boundaries closer together than this (CSS px) would be a grey veil. */
const BOUNDARY_SPACING = 40;

/** Starts of steps (CSS px), if far enough apart for a line each. */
function stepBoundaries(store: Store): number[] {
  if (store.drawn.steps.length < 2 || store.step !== null) return [];
  const positions: number[] = [];
  for (const step of store.drawn.steps) {
    if (step.step === NO_STEP) continue;
    const x = xAt(store.viewport, step.start, store.width);
    if (positions.length === 0 || x - positions[positions.length - 1] >= BOUNDARY_SPACING) positions.push(x);
  }
  return positions;
}
