/** The element that tabs or a chart are in: with style sheets and keys of its own, in the theme of the page. */

import { type OwnKeys, ownKeys } from "./own_keys";
import { themedRoot } from "./styled_shadow";
import base from "./styles/base.css";
import blocks from "./styles/blocks.css";

export function framed(
  element: HTMLElement,
  label: string,
  styles: readonly string[],
  signal: AbortSignal,
): { root: HTMLElement; keys: OwnKeys } {
  const root = themedRoot(element, "tfv panels", [base, blocks, ...styles], signal);
  root.setAttribute("role", "region");
  root.setAttribute("aria-label", label);
  return { root, keys: ownKeys(element, root, signal) };
}
