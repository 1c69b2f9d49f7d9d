/** The entry of an exported comparison: two timelines, and under them what differs, from the page itself. */
// Built with: HAS_PANELS, OWNS_PAGE.

import { embedded, textOf, unpacked } from "../host/embedded";
import type { Options, Pair } from "../host/host";
import { StaticHost } from "../host/static_host";
import type { TabContents } from "../panels/blocks";
import { mountPanels, mountProblem } from "../panels/mount";
import { restPane } from "../ui/page_panes";
import { mountComparison } from "../view/comparison/mount_comparison";

const LINK = "page";

/** What display/pages/comparison.py has written: what both have in common, and the options of each. */
interface Written extends Omit<Pair, "side"> {
  sides: Partial<Options>[];
}

function sideHost(side: number, { sides, ...common }: Written): StaticHost {
  const parts = {
    drawn: () => embedded(`tfvis-drawn-${side}`),
    details: () => embedded(`tfvis-details-${side}`),
  };
  return Object.assign(new StaticHost(parts, sides[side]), { link: LINK, pair: { side, ...common } });
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
  const timelines = document.createElement("div");
  const panels = restPane();
  root.replaceChildren(timelines, panels);
  const hosts = written.sides.map((_, side) => sideHost(side, written));
  await mountComparison(timelines, hosts, signal);
  await showPanels(panels, signal);
}

const root = document.getElementById("tfvis-root");
if (root) show(root);
