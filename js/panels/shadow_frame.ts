/** The element that panels are in: with a style of its own, in the theme of the page. */

import { suppressShortcuts } from "../host/jupyter_shortcuts";
import { styledShadow } from "../ui/styled_shadow";
import base from "../ui/styles/base.css";
import { detectTheme, watchTheme } from "../ui/theme";
import styles from "./styles.css";

export function framed(element: HTMLElement, label: string, signal: AbortSignal): HTMLElement {
  const shadow = styledShadow(element, base, styles);
  suppressShortcuts(element);
  const root = document.createElement("div");
  root.className = "tfv panels";
  root.setAttribute("role", "region");
  root.setAttribute("aria-label", label);
  shadow.append(root);
  const retheme = () => (root.dataset.theme = detectTheme(element));
  retheme();
  watchTheme(retheme, signal);
  return root;
}
