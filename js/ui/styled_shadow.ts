/** A shadow root with style sheets in it. */

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
