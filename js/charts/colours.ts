/** A chart in the colours and letters of the page, as BokehJS cannot take them from a style sheet. */

import type { Tokens } from "../ui/theme";
import type { BokehModel } from "./bokeh";

/** Which token each property of any model of a figure has; `font` is no colour. */
const PROPERTIES: Record<string, keyof Tokens> = {
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

export function colourChart(root: BokehModel, tokens: Tokens): void {
  for (const model of root.references()) {
    if (!PARTS.test(model.type)) continue;
    const values: Record<string, unknown> = {};
    // What Python has switched off stays off.
    for (const [property, token] of Object.entries(PROPERTIES))
      if (property in model.properties && (model as unknown as Record<string, unknown>)[property] !== null)
        values[property] = tokens[token];
    model.setv(values);
  }
}
