/** Puts one chart into an element: a figure as it was made, with its title and legend in it. */

import { render } from "preact";
import type { BokehItem } from "../panels/blocks";
import { framed } from "../panels/shadow_frame";
import { type ChartHost, Figure } from "./chart";

export function mountChart(
  element: HTMLElement,
  host: ChartHost,
  title: string,
  item: BokehItem,
  signal: AbortSignal,
): void {
  const root = framed(element, "Chart", signal);
  root.dataset.alone = "";
  render(<Figure {...{ host, item, title }} isShown />, root);
  signal.addEventListener("abort", () => {
    render(null, root);
    root.remove();
  });
}
