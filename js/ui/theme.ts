/** The page's theme, and the colours that the canvases take from it. */

import { toHex } from "../model/paint/colour";
import type { Theme } from "../model/paint/palette";

/** Colours as "#rrggbb", from the style sheet in the page's theme. */
export interface Tokens {
  theme: Theme;
  ground: string;
  panel: string;
  group: string;
  line: string;
  grid: string;
  text: string;
  muted: string;
  accent: string;
  selection: string;
  note: string;
  font: string;
}

const dark = () => matchMedia("(prefers-color-scheme: dark)");
const probe = () => document.createElement("canvas").getContext("2d");

/** A CSS colour of any notation as "#rrggbb"; canvas contexts normalise colours. */
function normalise(css: string, context: CanvasRenderingContext2D | null): string {
  if (!context) return css;
  context.fillStyle = "#888888";
  context.fillStyle = css;
  if (typeof context.fillStyle !== "string") return "#888888";
  if (context.fillStyle.startsWith("#")) return context.fillStyle;
  // A mixture of colours, each part from 0 to 1.
  const parts = /^color\(srgb ([\d.]+) ([\d.]+) ([\d.]+)\)$/.exec(context.fillStyle);
  return parts ? toHex([+parts[1] * 255, +parts[2] * 255, +parts[3] * 255]) : "#888888";
}

function luminance(hex: string): number {
  const value = Number.parseInt(hex.slice(1, 7), 16);
  return (0.2126 * (value >> 16) + 0.7152 * ((value >> 8) & 255) + 0.0722 * (value & 255)) / 255;
}

/**
 * The page's theme: that of the background painted around `host`. If there is none (yet), JupyterLab
 * and VS Code publish theirs as a custom property, Colab, marimo and plain pages mark the root element, and the rest
 * leaves it to the system's preference.
 */
export function detectTheme(host: Element): Theme {
  if (OWNS_PAGE) return (document.documentElement.dataset.theme as Theme | undefined) ?? ofSystem();
  const painted = groundBehind(host);
  if (painted) {
    const theme = themeOf(painted);
    takeColours(host as HTMLElement, theme);
    return theme;
  }
  // Notebook 7.6 renders an output before attaching it to the page; detached elements have no computed styles.
  const style = getComputedStyle(host.isConnected ? host : document.documentElement);
  const ground =
    style.getPropertyValue("--jp-layout-color0") || style.getPropertyValue("--vscode-editor-background");
  if (ground.trim()) return themeOf(ground.trim());
  if (document.querySelector("html.dark, body.dark, html[theme=dark], [data-theme=dark], body.vscode-dark"))
    return "dark";
  if (document.querySelector("html.light, body.light, html[theme=light], [data-theme=light]")) return "light";
  return ofSystem();
}

const themeOf = (ground: string): Theme => (luminance(normalise(ground, probe())) < 0.4 ? "dark" : "light");

/** Takes JupyterLab's colours from the page only if they are of `theme`: Solara 1.58 publishes the light ones in both. */
function takeColours(host: HTMLElement, theme: Theme): void {
  const root = getComputedStyle(document.documentElement);
  const published = root.getPropertyValue("--jp-layout-color0").trim();
  for (const name of ["--jp-layout-color0", "--jp-ui-font-color0", "--jp-brand-color1"]) {
    if (published && themeOf(published) !== theme) host.style.setProperty(name, "initial");
    else host.style.removeProperty(name);
  }
}

/** The elements around `host`, innermost first, across shadow roots. */
function around(host: Element): Element[] {
  const next = host.parentElement ?? (host.getRootNode() as ShadowRoot).host;
  return next ? [next, ...around(next)] : [];
}

/** The background that the innermost element around `host` paints: with an alpha, the ground is further out. */
function groundBehind(host: Element): string | undefined {
  return around(host)
    .map((element) => getComputedStyle(element).backgroundColor)
    .find((ground) => ground.startsWith("rgb("));
}

function ofSystem(): Theme {
  return dark().matches ? "dark" : "light";
}

/** A page that a notebook's file keeps lies in a frame that cannot see the notebook's theme: it asks for it. */
function askNotebook(changed: () => void, signal: AbortSignal): void {
  const onTheme = ({ source, data }: MessageEvent) => {
    if (source !== parent || (data !== "tfvis-dark" && data !== "tfvis-light")) return;
    document.documentElement.dataset.theme = data.slice("tfvis-".length);
    changed();
  };
  addEventListener("message", onTheme, { signal });
  parent.postMessage("tfvis-theme", "*");
}

/** Reads the tokens of `root`, whose data-theme attribute is the theme. */
export function readTokens(root: HTMLElement): Tokens {
  const style = getComputedStyle(root);
  const context = probe();
  const colour = (name: string) => normalise(style.getPropertyValue(name).trim(), context);
  return {
    theme: root.dataset.theme === "dark" ? "dark" : "light",
    ground: colour("--ground"),
    panel: colour("--panel"),
    group: colour("--group"),
    line: colour("--line"),
    grid: colour("--grid"),
    text: colour("--text"),
    muted: colour("--muted"),
    accent: colour("--accent"),
    selection: colour("--selection"),
    note: colour("--note"),
    font: style.fontFamily,
  };
}

/** Call `changed` whenever the theme of the page around `host` may have changed. */
export function watchTheme(host: Element, changed: () => void, signal: AbortSignal): void {
  for (const query of [dark(), matchMedia("(forced-colors: active)")])
    query.addEventListener("change", changed, { signal });
  if (OWNS_PAGE) {
    if (parent !== window) askNotebook(changed, signal);
    return;
  }
  const observer = new MutationObserver(changed);
  const attributes = ["class", "style", "theme", "data-theme", "data-jp-theme-light", "data-jp-theme-name"];
  const observe = (element: Element) =>
    observer.observe(element, { attributes: true, attributeFilter: attributes });
  for (const element of [document.documentElement, document.body]) observe(element);
  // Solara also renders before it attaches, and marks elements further in.
  const attached = () => {
    if (signal.aborted) return;
    if (!host.isConnected) return void requestAnimationFrame(attached);
    for (const element of around(host)) observe(element);
    changed();
  };
  requestAnimationFrame(attached);
  // JupyterLab swaps its theme's style sheet after it has changed the attribute, and its colours come with the sheet.
  const sheets = new MutationObserver(changed);
  sheets.observe(document.head, { childList: true });
  document.head.addEventListener("load", changed, { capture: true, signal });
  signal.addEventListener("abort", () => {
    observer.disconnect();
    sheets.disconnect();
  });
}
