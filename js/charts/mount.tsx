/** Puts one chart into an element: the unchanged figure, with its title and legend. */

import { render } from "preact";
import type { BokehItem } from "../model/wire/schema";
import { framed } from "../ui/shadow_frame";
import { Figure } from "./chart";
import type { ChartHost } from "./host";
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
