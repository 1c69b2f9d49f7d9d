/** Puts one chart into an element: the unchanged figure, with its title and legend. */

import { render } from "preact";
import { framed } from "../ui/shadow_frame";
import type { BokehItem, ChartHost } from "./block";
import { Figure } from "./chart";
import styles from "./styles.css";

export function mountChart(
  element: HTMLElement,
  host: ChartHost,
  title: string,
  item: BokehItem,
  signal: AbortSignal,
): void {
  const { root } = framed(element, "Chart", [styles], signal);
  root.dataset.alone = "";
  render(<Figure {...{ host, item, title }} isShown />, root);
  signal.addEventListener("abort", () => {
    render(null, root);
    root.remove();
  });
}
