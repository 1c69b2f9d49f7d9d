/** The element that tabs or a chart are in: with style sheets and keys of its own, in the theme of the page. */

import { type OwnKeys, ownKeys } from "./own_keys";
import { styledShadow } from "./styled_shadow";
import base from "./styles/base.css";
import blocks from "./styles/blocks.css";
import { detectTheme, watchTheme } from "./theme";

export function framed(
  element: HTMLElement,
  label: string,
  styles: readonly string[],
  signal: AbortSignal,
): { root: HTMLElement; keys: OwnKeys } {
  const shadow = styledShadow(element, [base, blocks, ...styles]);
  const root = document.createElement("div");
  root.className = "tfv panels";
  root.setAttribute("role", "region");
  root.setAttribute("aria-label", label);
  shadow.append(root);
  const retheme = () => (root.dataset.theme = detectTheme(element));
  retheme();
  watchTheme(element, retheme, signal);
  return { root, keys: ownKeys(element, root, signal) };
}
