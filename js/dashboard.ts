/** The entry of an exported dashboard: a timeline, and under it tabs, over data that lies in the page itself. */

import { embedded, textOf, unpacked } from "./embedded";
import { HeldHost } from "./held_host";
import type { Options } from "./host";
import { bindSize } from "./input/size_drag";
import type { TabContents } from "./panels/contents";
import { mountPanels, mountProblem } from "./panels/mount_panels";
import type { PanelsHost } from "./panels/panels_host";
import { mount } from "./view/mount";

const LINK = "page";
/** The part of the window that the timeline has at first. */
const TIMELINE = 0.56;
const LEAST = 160;

/** What display/dashboard_page.py has packed. */
interface Tabs {
  bokeh: string;
  tabs: TabContents[];
}

async function panelsHost(): Promise<PanelsHost> {
  const { bokeh, tabs } = JSON.parse(await unpacked(await embedded("tfvis-tabs"))) as Tabs;
  return {
    titles: tabs.map(({ title }) => title),
    link: LINK,
    bokehVersion: bokeh,
    tab: (place) => tabs[place],
    watch: () => {},
    bokeh: () => embedded("tfvis-bokeh"),
  };
}

/** A line between timeline and tabs that moves. */
function makeSplitter(timeline: HTMLElement, signal: AbortSignal): HTMLElement {
  const splitter = document.createElement("div");
  splitter.className = "tfvis-splitter";
  splitter.tabIndex = 0;
  splitter.setAttribute("role", "separator");
  splitter.setAttribute("aria-orientation", "horizontal");
  splitter.setAttribute("aria-label", "Height of the timeline");
  const read = () => timeline.clientHeight;
  // As a part of the window, which may change its size, too.
  const write = (size: number) => (timeline.style.height = `${(100 * size) / innerHeight}%`);
  const most = () => innerHeight - LEAST;
  bindSize(splitter, { axis: "y", direction: 1, least: LEAST, most, read, write }, signal);
  return splitter;
}

async function show(root: HTMLElement): Promise<void> {
  const { signal } = new AbortController();
  const options = JSON.parse(textOf("tfvis-options")) as Partial<Options>;
  const timeline = document.createElement("div");
  timeline.className = "tfvis-timeline";
  timeline.style.height = `${100 * TIMELINE}%`;
  const panels = document.createElement("div");
  panels.className = "tfvis-panels";
  root.replaceChildren(timeline, panels);
  timeline.after(makeSplitter(timeline, signal));
  const parts = { drawn: () => embedded("tfvis-drawn"), details: () => embedded("tfvis-details") };
  const host = Object.assign(new HeldHost(parts, options), { link: LINK });
  const mounted = await mount(timeline, host, signal, { ownsPage: true });
  Object.assign(timeline, { tfvis: mounted });
  try {
    mountPanels(panels, await panelsHost(), signal);
  } catch (error) {
    mountProblem(panels, error instanceof Error ? error.message : String(error), signal);
  }
}

const root = document.getElementById("tfvis-root");
if (root) show(root);
