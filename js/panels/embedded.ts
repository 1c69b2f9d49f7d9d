/** The tabs of an exported page that are written in it. */

import { embedded, unpacked } from "../host/embedded";
import type { PageTabs } from "../model/wire/schema";
import { mountPanels, mountProblem } from "./mount";

/** Mount the tabs that the page has; `link` is their link with the rest of it. */
export async function mountEmbedded(pane: HTMLElement, link: string, signal: AbortSignal): Promise<void> {
  try {
    const { bokeh, tabs } = JSON.parse(await unpacked(await embedded("tfvis-tabs"))) as PageTabs;
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
