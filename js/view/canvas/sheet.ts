/** The target of the bars: pixels, or an SVG. Positions are in CSS pixels. */

import type { Tokens } from "../../ui/theme";
import type { Surface } from "./surface";

/** A line from top to bottom. */
export interface Mark {
  x: number;
  colour: string;
}

export interface Sheet {
  /** Draw the ground, with lines that rows without events show. */
  begin(surface: Surface, ground: string, marks: readonly Mark[]): void;
  /** Fill from side to side. */
  strip(top: number, bottom: number, colour: string): void;
  /**
   * Draw a row. `codes` has the level and paint of each column, as `rasterRow` writes them; `colours` is a
   * `colourTable`; under it is the ground, or `strip`.
   */
  row(codes: Uint16Array, top: number, height: number, colours: Uint32Array, strip?: string): void;
  /** A line from side to side, one device pixel thick. */
  rule(top: number, colour: string): void;
  /** The same dashed, where times are predicted. */
  dashes(top: number, tokens: Tokens): void;
  end(surface: Surface): void;
}
