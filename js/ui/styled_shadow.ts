/** A shadow root with style sheets in it. */

import { detectTheme, watchTheme } from "./theme";

/**
 * The sheets are adopted rather than written into elements, which a page's content security policy may forbid.
 */
export function styledShadow(element: HTMLElement, texts: readonly string[]): ShadowRoot {
  const shadow = element.attachShadow({ mode: "open" });
  shadow.adoptedStyleSheets = texts.map((text) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    return sheet;
  });
  return shadow;
}

/** An element of these classes in such a root, in the theme of the page. */
export function themedRoot(
  element: HTMLElement,
  classes: string,
  texts: readonly string[],
  signal: AbortSignal,
): HTMLElement {
  const root = document.createElement("div");
  root.className = classes;
  styledShadow(element, texts).append(root);
  const retheme = () => (root.dataset.theme = detectTheme(element));
  retheme();
  watchTheme(element, retheme, signal);
  return root;
}
