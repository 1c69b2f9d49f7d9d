/** The tabs of an exported page that are written in it. */

import { embedded, unpacked } from "../host/embedded";
import type { Part } from "./blocks";
import { mountPanels, mountProblem } from "./mount";

/** What display/pages has packed; `bokeh` is the version that charts need, empty without charts. */
interface Packed {
  bokeh: string;
  tabs: Part[];
}

/** Mount the tabs that the page has; `link` is their link with the rest of it. */
export async function mountEmbedded(pane: HTMLElement, link: string, signal: AbortSignal): Promise<void> {
  try {
    const { bokeh, tabs } = JSON.parse(await unpacked(await embedded("tfvis-tabs"))) as Packed;
    const host = {
      parts: tabs,
      link,
      bokehVersion: bokeh,
      part: (name: string) => tabs.find(({ title }) => title === name) ?? null,
      watch: () => {},
      bokeh: () => embedded("tfvis-bokeh"),
    };
    mountPanels(pane, host, signal);
  } catch (error) {
    mountProblem(pane, error instanceof Error ? error.message : String(error), signal);
  }
}
