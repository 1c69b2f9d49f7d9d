/** The coloured cells of a heat map as an image, made again only when they change. */

import type { Grid, Values } from "../model/fleet/grid";
import { largestCells, type Range } from "../model/fleet/pixels";
import { COLOURS, colourOf, type Scale } from "../model/fleet/scale";
import { parseColour, toPixel } from "../model/paint/colour";
import type { Geometry } from "./geometry";

export interface Picture {
  /** The cell of each pixel of each line; -1 without a value. */
  cells: Int32Array;
  image: ImageData;
}

/** Columns and lines of at least this size (CSS px) have a gap between them. */
const LEAST_WITH_GAP = 6;
const LEAST_LINE_WITH_GAP = 9;

export function pictureOf(
  grid: Grid,
  values: Values,
  scale: Scale,
  range: Range,
  geometry: Geometry,
  look: { colours: readonly string[]; ground: string; nothing: string; ratio: number },
): Picture {
  const { plot, lines, lineHeight } = geometry;
  const width = Math.max(1, Math.round(plot.width * look.ratio));
  const height = Math.max(1, Math.round(plot.height * look.ratio));
  const steps = grid.step.length;
  const cells = largestCells(values, grid.tasks.length, steps, range, lines, width);
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const [ground, nothing] = [look.ground, look.nothing].map((css) => toPixel(parseColour(css)));
  const colours = look.colours.map((css) => toPixel(parseColour(css)));
  const line = new Uint32Array(width);
  const gaps = gapsOf(width, range, plot.width);
  for (let at = 0; at < lines; at++) {
    for (let x = 0; x < width; x++) {
      const cell = cells[at * width + x];
      line[x] = gaps[x]
        ? ground
        : cell < 0
          ? nothing
          : colours[Math.min(colourOf(scale, values[cell]), COLOURS - 1)];
    }
    const top = Math.round(at * lineHeight * look.ratio);
    const bottom = Math.min(Math.round((at + 1) * lineHeight * look.ratio), height);
    const gap = lineHeight >= LEAST_LINE_WITH_GAP ? Math.round(look.ratio) : 0;
    for (let y = top; y < bottom; y++) {
      if (y < bottom - gap) pixels.set(line, y * width);
      else pixels.fill(ground, y * width, (y + 1) * width);
    }
  }
  return { cells, image };
}

/** Which pixels are between wide columns. */
function gapsOf(width: number, range: Range, cssWidth: number): Uint8Array {
  const gaps = new Uint8Array(width);
  const columns = range.to - range.from;
  if (cssWidth / columns < LEAST_WITH_GAP) return gaps;
  for (let column = 1; column <= columns; column++) {
    const x = Math.round((column * width) / columns) - 1;
    if (x < width) gaps[x] = 1;
  }
  return gaps;
}
