/** The entry of an exported dashboard: a timeline, and under it tabs, over data that lies in the page itself. */
// Built with: HAS_PANELS, OWNS_PAGE.

import { embedded, unpacked } from "../host/embedded";
import type { Options } from "../host/host";
import { embeddedHost, ownOptions } from "../host/own_page";
import type { TabContents } from "../panels/blocks";
import type { PanelsHost } from "../panels/host";
import { mountPanels, mountProblem } from "../panels/mount";
import { restPane, timelinePane } from "../ui/page_panes";
import { mount } from "../view/mount";
import { shrinkToLanes } from "../view/sizes";

const LINK = "page";
/** The part of the window that the timeline has at first. */
const TIMELINE = 0.56;

/** What display/pages/dashboard.py has packed. */
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
    tab: (index) => tabs[index],
    watch: () => {},
    bokeh: () => embedded("tfvis-bokeh"),
  };
}

async function show(root: HTMLElement): Promise<void> {
  const { signal } = new AbortController();
  const { pane: timeline, splitter } = timelinePane(TIMELINE, "Height of the timeline", signal);
  const panels = restPane();
  root.replaceChildren(timeline, splitter, panels);
  const host = Object.assign(embeddedHost(ownOptions<Partial<Options>>()), { link: LINK });
  const mounted = await mount(timeline, host, signal);
  Object.assign(timeline, { tfvis: mounted });
  if (mounted) shrinkToLanes(timeline, splitter, mounted.store, TIMELINE);
  try {
    mountPanels(panels, await panelsHost(), signal);
  } catch (error) {
    mountProblem(panels, error instanceof Error ? error.message : String(error), signal);
  }
}

const root = document.getElementById("tfvis-root");
if (root) show(root);
