/** The current colour of every event: by the user's choice, in the page's theme, dimmed by a search. */

import { type ColorBy, colourTable, type Paints, paints, type Theme } from "../model/paint/palette";
import type { Drawn } from "../model/types";

export class Painting {
  readonly paints: Paints;
  /** The pixel of each colour number, and from 256 on the faint one. */
  readonly colours: Uint32Array;
  /** The colour number of each event; 128 is added while a search does not match it. */
  shade: Uint8Array;

  constructor(
    drawn: Drawn,
    colorBy: ColorBy,
    readonly theme: Theme,
    readonly ground: string,
  ) {
    this.paints = paints(drawn, colorBy, theme);
    this.colours = colourTable(this.paints.css, ground);
    this.shade = this.paints.colour;
  }

  /** Dim what `mask` holds 0 for; null dims nothing. */
  dim(mask: Uint8Array | null): void {
    const { colour } = this.paints;
    this.shade = mask ? colour.map((number, id) => (mask[id] ? number : number + 128)) : colour;
  }
}
