/** The entry of an exported dashboard: a timeline, and under it tabs, over data that lies in the page itself. */
// Built with: HAS_PANELS, OWNS_PAGE.

import type { Options } from "../host/host";
import { embeddedHost, ownOptions } from "../host/own_page";
import { mountEmbedded } from "../panels/embedded";
import { restPane, timelinePane } from "../ui/page_panes";
import { mount } from "../view/mount";
import { shrinkToLanes } from "../view/sizes";

const LINK = "page";
/** The part of the window that the timeline has at first. */
const TIMELINE = 0.56;

async function show(root: HTMLElement): Promise<void> {
  const { signal } = new AbortController();
  const { pane: timeline, splitter } = timelinePane(TIMELINE, "Height of the timeline", signal);
  const panels = restPane();
  root.replaceChildren(timeline, splitter, panels);
  const host = Object.assign(embeddedHost(ownOptions<Partial<Options>>()), { link: LINK });
  const mounted = await mount(timeline, host, signal);
  Object.assign(timeline, { tfvis: mounted });
  if (mounted) shrinkToLanes(timeline, splitter, mounted.store, TIMELINE);
  await mountEmbedded(panels, LINK, signal);
}

const root = document.getElementById("tfvis-root");
if (root) show(root);
