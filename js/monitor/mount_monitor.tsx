/** Puts a monitor into an element. */

import { render } from "preact";
import { suppressShortcuts, yieldShortcuts } from "../input/jupyter_shortcuts";
import { bindSize } from "../input/size_drag";
import base from "../view/base.css";
import { styledShadow } from "../view/styled_shadow";
import { detectTheme, watchTheme } from "../view/theme";
import { Monitor } from "./monitor";
import type { MonitorHost } from "./monitor_host";
import { MonitorStore } from "./store";
import styles from "./styles.css";

export interface MonitorOptions {
  /** Where the monitor is the whole page: it fills the window. */
  ownsPage: boolean;
  /** How high it is otherwise (CSS px), and who remembers what the user makes of that. */
  height?: { read(): number; write(height: number): void };
}

/** Below this width (CSS px) details cover the tables, and do not open by themselves; the style sheet has it too. */
const NARROW = 900;
const TIMELINE = 560;

/** Show the monitor of `host` in `element` until `signal` aborts. */
export function mountMonitor(
  element: HTMLElement,
  host: MonitorHost,
  signal: AbortSignal,
  { ownsPage, height }: MonitorOptions,
): MonitorStore {
  const shadow = styledShadow(element, base, styles);
  suppressShortcuts(element);
  if (!ownsPage) yieldShortcuts(element, signal);
  const root = document.createElement("div");
  root.className = "tfv monitor";
  if (ownsPage) root.dataset.page = "";
  shadow.append(root);
  const retheme = () => (root.dataset.theme = detectTheme(element));
  retheme();
  watchTheme(retheme, signal);

  const store = new MonitorStore(host, signal);
  const timeline = () => (ownsPage ? Math.max(Math.round(innerHeight * 0.6) - 66, 400) : TIMELINE);
  const draw = () => {
    render(
      <Monitor store={store} sizes={{ height: ownsPage ? null : (height?.read() ?? 480), timeline }} />,
      root,
    );
  };
  draw();
  const grip = root.querySelector<HTMLElement>("[data-part=grip]");
  if (grip && height) {
    const write = (size: number) => {
      height.write(size);
      draw();
    };
    bindSize(
      grip,
      { axis: "y", direction: 1, least: 200, most: () => 4000, read: height.read, write },
      signal,
    );
  }
  bindKeys(root, store, signal);
  watchWidth(root, store, signal);
  signal.addEventListener("abort", () => {
    render(null, root);
    root.remove();
  });
  return store;
}

function bindKeys(root: HTMLElement, store: MonitorStore, signal: AbortSignal): void {
  const pressed = (event: KeyboardEvent) => {
    const target = event.composedPath()[0] as HTMLElement;
    const isTyping = target instanceof HTMLInputElement && ["text", "number"].includes(target.type);
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
    // A popover closes at Escape itself.
    if (event.key === "Escape" && !target.closest("[popover]") && store.selected !== null)
      store.closeDetails();
    else if (event.key === "/") root.querySelector<HTMLInputElement>(".search input")?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  root.addEventListener("keydown", pressed, { signal });
}

function watchWidth(root: HTMLElement, store: MonitorStore, signal: AbortSignal): void {
  let isFirst = true;
  const observer = new ResizeObserver(() => {
    // A hidden or restored output has no size at first.
    if (root.clientWidth === 0) return;
    store.isNarrow = root.clientWidth < NARROW;
    if (isFirst && store.isNarrow) store.set({ panelOpen: false });
    isFirst = false;
  });
  observer.observe(root);
  signal.addEventListener("abort", () => observer.disconnect());
}
