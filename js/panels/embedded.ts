/** The tabs of an exported page that are written in it, without charts. */

import { embedded, unpacked } from "../host/embedded";
import type { TabContents } from "./blocks";
import { mountPanels, mountProblem } from "./mount";

/** Mount the tabs that the page has; `link` is their link with the rest of it. */
export async function mountEmbedded(pane: HTMLElement, link: string, signal: AbortSignal): Promise<void> {
  try {
    const tabs = JSON.parse(await unpacked(await embedded("tfvis-tabs"))) as TabContents[];
    const host = {
      titles: tabs.map(({ title }) => title),
      link,
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
