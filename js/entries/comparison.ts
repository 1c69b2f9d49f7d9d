/** The entry of an exported comparison: two timelines, and under them what differs, from the page itself. */
// Built with: HAS_PANELS, OWNS_PAGE.

import { embedded, textOf, unpacked } from "../host/embedded";
import type { Options } from "../host/host";
import { StaticHost } from "../host/static_host";
import type { TabContents } from "../panels/blocks";
import { mountPanels, mountProblem } from "../panels/mount";
import { restPane, timelinePane } from "../ui/page_panes";
import { mount } from "../view/mount";

const LINK = "page";
/** The part of the window that each timeline has at first. */
const TIMELINE = 0.34;
const NAMES = ["upper", "lower"];

/** What display/pages/comparison.py has written. */
interface Written {
  extent: number;
  memory: Record<string, number>;
  /** Of each timeline. */
  sides: Partial<Options>[];
}

async function showTimeline(
  side: number,
  { extent, memory, sides }: Written,
  pane: HTMLElement,
  signal: AbortSignal,
) {
  const parts = {
    drawn: () => embedded(`tfvis-drawn-${side}`),
    details: () => embedded(`tfvis-details-${side}`),
  };
  const host = Object.assign(new StaticHost(parts, sides[side]), {
    link: LINK,
    pair: { side, extent, memory },
  });
  Object.assign(pane, { tfvis: await mount(pane, host, signal) });
}

async function showPanels(pane: HTMLElement, signal: AbortSignal): Promise<void> {
  try {
    const tabs = JSON.parse(await unpacked(await embedded("tfvis-tabs"))) as TabContents[];
    const host = {
      titles: tabs.map(({ title }) => title),
      link: LINK,
      bokehVersion: "",
      tab: (index: number) => tabs[index],
      watch: () => {},
      bokeh: async (): Promise<never> => {
        throw new Error("this page has no charts");
      },
    };
    mountPanels(pane, host, signal);
  } catch (error) {
    mountProblem(pane, error instanceof Error ? error.message : String(error), signal);
  }
}

async function show(root: HTMLElement): Promise<void> {
  const { signal } = new AbortController();
  const written = JSON.parse(textOf("tfvis-options")) as Written;
  const panes = NAMES.map((name) => timelinePane(TIMELINE, `Height of the ${name} timeline`, signal));
  const panels = restPane();
  root.replaceChildren(...panes.flatMap(({ pane, splitter }) => [pane, splitter]), panels);
  await Promise.all(panes.map(({ pane }, side) => showTimeline(side, written, pane, signal)));
  await showPanels(panels, signal);
}

const root = document.getElementById("tfvis-root");
if (root) show(root);
