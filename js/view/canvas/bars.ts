/** The lanes' picture: ground, group strips and the rows of events, drawn by the CPU. */

import type { Tick } from "../../model/format/ticks";
import { type GroupItem, rowTop } from "../../model/lanes/layout";
import { barTop } from "../../model/lanes/tracks";
import { mix, parseColour, toHex } from "../../model/paint/colour";
import { colourTable } from "../../model/paint/palette";
import { rasterRow } from "../../model/paint/raster";
import { NO_STEP, type Row } from "../../model/types";
import { xAt } from "../../model/viewport";
import { wholeRow } from "../../model/wire/own_tracks";
import type { Store } from "../../state/store";
import type { Tokens } from "../../ui/theme";
import { Names } from "./bar_labels";
import { drawCounters } from "./counter_track";
import { drawMemory } from "./memory_track";
import { drawOwnNames, ownColours } from "./own_bars";
import { outlineChanged } from "./predicted";
import type { Mark, Sheet } from "./sheet";
import { PixelSheet, SvgSheet } from "./sheet";
import { type Surface, svgPen } from "./surface";
import { drawTensorNames, tensorColours, tensorShade } from "./tensors";

/** Height of a bar of an own track (CSS px). */
const BAR = 15;
const PREVIEW = 12;

export class Bars {
  #codes = new Uint16Array(0);
  #merged = new Uint16Array(0);
  readonly #pixels = new PixelSheet();
  readonly #names = new Names();

  draw(surface: Surface, store: Store, tokens: Tokens, ticks: readonly Tick[]): void {
    const { width } = surface.element;
    if (this.#codes.length !== width) {
      this.#codes = new Uint16Array(width);
      this.#merged = new Uint16Array(width);
    }
    const svg = svgPen(surface);
    const sheet: Sheet = svg ? new SvgSheet(svg, surface) : this.#pixels;
    sheet.begin(surface, tokens.ground, marksOf(store, tokens, ticks));
    const nsPerPixel = (store.viewport.end - store.viewport.start) / width;
    const [tensors, own] = [tensorColours, ownColours].map((colours) =>
      colourTable(colours(store.painting.theme), tokens.ground),
    );
    for (const item of store.arrangement.items) {
      const top = item.y - store.scroll;
      const bottom = top + item.height;
      if (top >= surface.height) break;
      if (bottom <= 0) continue;
      if (item.type === "group") {
        const strip = stripOf(item, tokens);
        sheet.strip(top, bottom, strip);
        if (item.collapsed) {
          const { colours, shade } = store.painting;
          const lanes = item.preview.map((lane) => ({ row: store.derived.folded(lane), shade }));
          const bars = item.bars.map((track) => ({ row: wholeRow(track), shade: track.shade }));
          const [rows, table] = bars.length ? [bars, own] : [lanes, colours];
          this.#preview(sheet, store, rows, top + 5, strip, nsPerPixel, table);
        }
        continue;
      }
      const isLane = item.type === "lane";
      if (isLane)
        item.rows.forEach((row, index) => {
          const { colours, shade } = store.painting;
          const y = rowTop(item, index) - store.scroll + 1;
          this.#row(sheet, store, row, y, item.rowHeight - 2, nsPerPixel, colours, shade);
        });
      if (item.type === "tensors")
        for (const { row, top: y, height } of item.tensors.rows)
          this.#row(sheet, store, row, top + y, height, nsPerPixel, tensors, tensorShade(item.track));
      if (item.type === "bars")
        item.rows.forEach((row, index) => {
          this.#row(sheet, store, row, top + barTop(index), BAR, nsPerPixel, own, item.track.shade);
        });
      sheet.rule(bottom - 1, isLane && item.pinned ? tokens.line : tokens.grid);
      if (isLane && store.drawn.predicted) sheet.dashes(bottom - 1, tokens);
    }
    sheet.end(surface);
    drawMemory(surface, store, tokens);
    drawCounters(surface, store, tokens);
    this.#names.draw(surface, store, tokens);
    outlineChanged(surface, store, tokens);
    drawTensorNames(surface, store, this.#names);
    drawOwnNames(surface, store, this.#names);
    const { sticky, covered } = store;
    if (!sticky || sticky.item.collapsed) return;
    surface.context.fillStyle = stripOf(sticky.item, tokens);
    surface.context.fillRect(0, 0, surface.width, covered);
  }

  /** Draw a row of bars whose colours are `colours`, if it is in view. */
  #row(
    sheet: Sheet,
    store: Store,
    row: Row,
    y: number,
    height: number,
    nsPerPixel: number,
    colours: Uint32Array,
    shade: Uint8Array,
  ): void {
    if (y >= store.height || y + height <= 0) return;
    this.#raster(store, row, nsPerPixel, shade);
    sheet.row(this.#codes, y, height, colours);
  }

  /** A collapsed group: in each column what its busiest lane does. */
  #preview(
    sheet: Sheet,
    store: Store,
    rows: readonly { row: Row; shade: Uint8Array }[],
    y: number,
    strip: string,
    nsPerPixel: number,
    colours: Uint32Array,
  ): void {
    const [codes, merged] = [this.#codes, this.#merged.fill(0)];
    for (const { row, shade } of rows) {
      this.#raster(store, row, nsPerPixel, shade);
      for (let x = 0; x < codes.length; x++) if (codes[x] >> 8 > merged[x] >> 8) merged[x] = codes[x];
    }
    sheet.row(merged, y, PREVIEW, colours, strip);
  }

  /** Take the levels and paints of a row. */
  #raster(store: Store, row: Row, nsPerPixel: number, shade: Uint8Array): void {
    const codes = this.#codes.fill(0);
    const levels = store.derived.levels(row);
    rasterRow(codes, 0, codes.length, row, levels, store.viewport.start, nsPerPixel, shade);
  }
}

const stripOf = ({ level }: GroupItem, tokens: Tokens) => (level === 0 ? tokens.group : tokens.panel);

/** The lines behind the bars: one for each tick, and where steps begin. */
function marksOf(store: Store, tokens: Tokens, ticks: readonly Tick[]): Mark[] {
  const boundary = toHex(mix(parseColour(tokens.ground), parseColour(tokens.accent), BOUNDARY_SHARE));
  return [
    ...ticks.map(({ x }) => ({ x, colour: tokens.grid })),
    ...stepBoundaries(store).map((x) => ({ x, colour: boundary })),
  ];
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
