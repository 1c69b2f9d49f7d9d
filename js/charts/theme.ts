/** A chart in the colours and letters of the page, which BokehJS cannot take from a style sheet. */

import { activityColour, type Theme } from "../model/paint/palette";
import type { Tokens } from "../ui/theme";
import type { BokehModel, BokehSource, BokehView } from "./bokeh";

/** Token of each property, for any model of a figure; all but `font` are colours. */
const PART_TOKENS: Record<string, keyof Tokens> = {
  text_color: "text",
  title_text_color: "muted",
  label_text_color: "text",
  axis_label_text_color: "muted",
  major_label_text_color: "muted",
  group_text_color: "muted",
  subgroup_text_color: "muted",
  axis_line_color: "line",
  major_tick_line_color: "line",
  separator_line_color: "line",
  grid_line_color: "grid",
  text_font: "font",
  title_text_font: "font",
  label_text_font: "font",
  axis_label_text_font: "font",
  major_label_text_font: "font",
  group_text_font: "font",
};

/** Parts of a figure; glyphs have colours that mean something. */
const PARTS = /Axis$|Grid$|^Legend$|^Title$|^ColorBar$|^Label/;

/** Give texts, axes and grids the page's colours. */
export function colourChart(root: BokehModel, tokens: Tokens): void {
  for (const model of root.references()) {
    if (!PARTS.test(model.type)) continue;
    const values: Record<string, unknown> = {};
    // What Python has switched off stays off.
    for (const [property, token] of Object.entries(PART_TOKENS))
      if (property in model.properties && (model as unknown as Record<string, unknown>)[property] !== null)
        values[property] = tokens[token];
    model.setv(values);
  }
}

/** Begins the tag of a glyph or line that has a colour of the palette, as display/charts/style.py writes it. */
const COLOUR_TAG = "colour:";
const COLOURED = ["fill_color", "line_color", "hatch_color"];

interface Value {
  value: unknown;
}

/** Gives a chart's series the timeline's colours in the page's theme. */
export class SeriesColours {
  /** Each puts one model's colours into a theme; they were made for the light one. */
  readonly #changes: ((theme: Theme) => void)[] = [];
  #theme: Theme = "light";

  constructor(root: BokehModel) {
    for (const model of root.references()) {
      const tag = model.tags?.find((each) => typeof each === "string" && each.startsWith(COLOUR_TAG));
      if (tag) this.#addModel(model, String(tag).slice(COLOUR_TAG.length));
      if ("data" in model) this.#addRows(model as BokehSource);
    }
  }

  follow(theme: Theme): void {
    if (theme === this.#theme) return;
    this.#theme = theme;
    for (const change of this.#changes) change(theme);
  }

  #addModel(model: BokehModel, name: string): void {
    for (const property of COLOURED) {
      const made = (model as unknown as Record<string, unknown>)[property];
      // A rim of another colour keeps it.
      if ((isValue(made) ? made.value : made) !== activityColour(name, "light")) continue;
      this.#changes.push((theme) => {
        const colour = activityColour(name, theme);
        model.setv({ [property]: isValue(made) ? { ...made, value: colour } : colour });
      });
    }
  }

  #addRows(source: BokehSource): void {
    const { colour_name: names } = source.data;
    if (!names) return;
    this.#changes.push((theme) => {
      const colour = Array.from(names, (name) => activityColour(String(name), theme));
      source.setv({ data: { ...source.data, colour } });
    });
  }
}

function isValue(made: unknown): made is Value {
  return typeof made === "object" && made !== null && "value" in made;
}

/** The tooltips of a figure's tools, which no document knows: only the views that have made them. */
function* tooltips(view: BokehView): Iterable<BokehModel> {
  if (view.ttmodels) yield* view.ttmodels.values();
  for (const child of view.children_views?.() ?? []) yield* tooltips(child);
}

/** BokehJS tooltips are outside the tabs and have their own style. */
export function colourTooltips(view: BokehView, { ground, text, muted, line, font }: Tokens): void {
  const style = `
    :host {
      --tooltip-color: ${ground};
      --tooltip-text: ${text};
      --tooltip-border: ${line};
      --tooltip-arrow-color: ${line};
      --tooltip-arrow-inner-color: ${ground};
      border-radius: 5px;
      font-family: ${font};
      opacity: 1;
    }
    .bk-tooltip-row-label { padding-right: 6px; color: ${muted}; }`;
  for (const tooltip of tooltips(view)) tooltip.setv({ stylesheets: [style] });
}
