/** What BokehJS says beside the pointer, in the page's colours: it stands outside of the panels, with a style of its own. */

import type { Tokens } from "../ui/theme";
import type { BokehModel, BokehView } from "./bokeh";

/** The tooltips of a figure's tools, which no document knows: only the views that have made them. */
function* tooltips(view: BokehView): Iterable<BokehModel> {
  if (view.ttmodels) yield* view.ttmodels.values();
  for (const child of view.children_views?.() ?? []) yield* tooltips(child);
}

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
