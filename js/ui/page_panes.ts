/** The panes of an exported page: timelines above each other, each with a line under it that moves. */

import { bindSize } from "./resize_handle";

const MIN_PANE_PX = 160;

/** A place for a timeline that takes `part` of the window, and the line under it, called `label`. */
export function timelinePane(
  part: number,
  label: string,
  signal: AbortSignal,
): { pane: HTMLElement; splitter: HTMLElement } {
  const pane = document.createElement("div");
  pane.className = "tfvis-timeline";
  pane.style.height = `${100 * part}vh`;
  const splitter = document.createElement("div");
  splitter.className = "tfvis-splitter";
  splitter.tabIndex = 0;
  splitter.setAttribute("role", "separator");
  splitter.setAttribute("aria-orientation", "horizontal");
  splitter.setAttribute("aria-label", label);
  const read = () => pane.clientHeight;
  // As a share of the window, because that may change its size too.
  const write = (size: number) => (pane.style.height = `${(100 * size) / innerHeight}vh`);
  const others = () => [...(pane.parentElement?.querySelectorAll(".tfvis-timeline") ?? [])];
  const taken = () => others().reduce((sum, each) => sum + (each === pane ? 0 : each.clientHeight), 0);
  const most = () => Math.max(innerHeight - taken() - MIN_PANE_PX, MIN_PANE_PX);
  bindSize(splitter, { axis: "y", direction: 1, least: MIN_PANE_PX, most, read, write }, signal);
  return { pane, splitter };
}

/** A place that takes the rest of the window. */
export function restPane(): HTMLElement {
  const pane = document.createElement("div");
  pane.className = "tfvis-panels";
  return pane;
}
