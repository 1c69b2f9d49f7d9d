/** What a chart draws, in the colours that the timeline has in the page's theme. */

import { inTheme, type Theme } from "../model/paint/palette";
import type { BokehModel, BokehSource } from "./bokeh";

/** Of glyphs, and of lines across a figure: one colour, or one for all rows. */
const PROPERTIES = ["fill_color", "line_color", "hatch_color"];
/** The column of a source with a colour for each row. */
const COLUMN = "colour";

interface Value {
  value: unknown;
}

export class SeriesColours {
  /** Puts a model's colours into a theme; each knows them as they were made, for the light one. */
  readonly #changes: ((theme: Theme) => void)[] = [];
  #theme: Theme = "light";

  constructor(root: BokehModel) {
    for (const model of root.references()) {
      for (const property of PROPERTIES) this.#addProperty(model, property);
      if ("data" in model) this.#addRows(model as BokehSource);
    }
  }

  follow(theme: Theme): void {
    if (theme === this.#theme) return;
    this.#theme = theme;
    for (const change of this.#changes) change(theme);
  }

  #addProperty(model: BokehModel, property: string): void {
    const made = (model as unknown as Record<string, unknown>)[property];
    const css = isValue(made) ? made.value : made;
    if (typeof css !== "string" || inTheme(css, "dark") === css) return;
    this.#changes.push((theme) => {
      const colour = inTheme(css, theme);
      model.setv({ [property]: isValue(made) ? { ...made, value: colour } : colour });
    });
  }

  #addRows(source: BokehSource): void {
    const made = source.data[COLUMN];
    if (!made) return;
    const colours = Array.from(made, String);
    this.#changes.push((theme) =>
      source.setv({ data: { ...source.data, [COLUMN]: colours.map((css) => inTheme(css, theme)) } }),
    );
  }
}

function isValue(made: unknown): made is Value {
  return typeof made === "object" && made !== null && "value" in made;
}
