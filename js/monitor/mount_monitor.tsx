/** Puts a monitor into an element. */

import { render } from "preact";
import { askToStay } from "../host/notes";
import type { Lost } from "../ui/kept_focus";
import { isShortcut, ownKeys } from "../ui/own_keys";
import { bindSize } from "../ui/resize_handle";
import { themedRoot } from "../ui/styled_shadow";
import type { MonitorHost } from "./host";
import { Monitor } from "./monitor";
import { focusRow } from "./rows";
import { MonitorStore } from "./store";
import { STYLES } from "./styles";

/** Height of the monitor (CSS px), and where the user's choice is stored. */
export interface Height {
  read(): number;
  write(height: number): void;
}

/** Below this width (CSS px) details take too much of the tables' room to open by themselves. */
const NARROW_PX = 900;
const TIMELINE = 560;

/** Show the monitor of `host` in `element` until `signal` aborts; without a height it is the whole page. */
export function mountMonitor(
  element: HTMLElement,
  host: MonitorHost,
  signal: AbortSignal,
  height?: Height,
): MonitorStore {
  const root = themedRoot(element, "tfv monitor", STYLES, signal);
  if (!height) root.dataset.page = "";
  const store = new MonitorStore(host, signal);
  const sizes = {
    height: () => height?.read() ?? null,
    timeline: () => (height ? TIMELINE : Math.max(Math.round(innerHeight * 0.6) - 66, 400)),
  };
  render(<Monitor store={store} sizes={sizes} />, root);
  const panel = root.querySelector<HTMLElement>("[data-part=panel]")!;
  const grip = root.querySelector<HTMLElement>("[data-part=grip]");
  if (grip && height) {
    const write = (size: number) => {
      height.write(size);
      store.emit();
    };
    bindSize(
      grip,
      { axis: "y", direction: 1, least: 200, most: () => 4000, read: () => panel.clientHeight, write },
      signal,
    );
  }
  const keys = ownKeys(element, root, signal, besideLost(root));
  keys.isMain = !height;
  keys.press = (event) => {
    if (isShortcut(event)) return false;
    if (event.key === "Escape" && store.selected !== null) {
      focusRow(panel, "signatures", store.selected);
      store.closeDetails();
    } else if (event.key === "/") panel.querySelector<HTMLInputElement>(".search input")?.focus();
    else return false;
    return true;
  };
  watchSize(root, store, signal);
  if (!height) askToStay(() => store.withUnsavedNotes.length > 0);
  signal.addEventListener("abort", () => {
    render(null, root);
    root.remove();
  });
  return store;
}

function watchSize(root: HTMLElement, store: MonitorStore, signal: AbortSignal): void {
  let isFirst = true;
  let height = innerHeight;
  const observer = new ResizeObserver(() => {
    // A hidden or restored output has no size at first.
    if (root.clientWidth === 0) return;
    store.isNarrow = root.clientWidth < NARROW_PX;
    if (isFirst && store.isNarrow) store.set({ panelOpen: false });
    isFirst = false;
    // On a page an opened timeline fills the rest of the window.
    if (height !== innerHeight) store.emit();
    height = innerHeight;
  });
  observer.observe(root);
  signal.addEventListener("abort", () => observer.disconnect());
}

const CONTROLS = "button:enabled, input:enabled, [tabindex]";

/** Moves the focus to the control of `root` in the place of one that can no longer have it. */
function besideLost(root: HTMLElement): Lost {
  /** What contains the control that has the focus, inside out, and its place among the controls there. */
  let around: [box: Element, place: number][] = [];
  return {
    gained(target) {
      around = [];
      for (let box = target.parentElement; box && box !== root.parentElement; box = box.parentElement) {
        around.push([box, controls(box).indexOf(target)]);
      }
    },
    instead() {
      for (const [box, place] of around) {
        const inside = box.isConnected ? controls(box) : [];
        if (inside.length === 0) continue;
        inside[Math.min(Math.max(place, 0), inside.length - 1)]!.focus();
        return;
      }
    },
  };
}

function controls(box: Element): HTMLElement[] {
  return [...box.querySelectorAll<HTMLElement>(CONTROLS)].filter(
    (each) => each.tabIndex >= 0 && each.checkVisibility(),
  );
}
