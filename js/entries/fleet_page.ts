/** The entry of an exported fleet: heat map, the timelines of a few cells, tables; all from the page itself. */
// Built with: HAS_PANELS, OWNS_PAGE.

import { mountFleet } from "../fleet/mount";
import { PageFleetHost, type Written } from "../fleet/page_host";
import { arrived, embedded, textOf } from "../host/embedded";
import { StaticHost } from "../host/static_host";
import { mountEmbedded } from "../panels/embedded";
import { mount } from "../view/mount";

const LINK = "page";

function pane(name: string): HTMLElement {
  const element = document.createElement("div");
  element.className = `tfvis-${name}`;
  return element;
}

/** Shows one of the page's timelines in a place, in place of the one before. */
function timelineIn(place: HTMLElement): (index: number | null) => Promise<void> {
  let before = new AbortController();
  return async (index) => {
    before.abort();
    before = new AbortController();
    place.replaceChildren();
    place.hidden = index === null;
    if (index === null) return;
    const parts = {
      drawn: () => embedded(`tfvis-drawn-${index}`),
      details: () => arrived().then(() => embedded(`tfvis-details-${index}`)),
    };
    // A shadow root cannot be taken off an element.
    const inner = document.createElement("div");
    inner.style.height = "100%";
    place.append(inner);
    const mounted = await mount(inner, new StaticHost(parts, {}), before.signal);
    Object.assign(place, { tfvis: mounted });
    place.scrollIntoView({ block: "nearest" });
  };
}

async function show(root: HTMLElement): Promise<void> {
  const { signal } = new AbortController();
  const written = JSON.parse(textOf("tfvis-options")) as Written;
  const [map, timeline, panels] = ["fleet", "timeline", "panels"].map(pane);
  timeline.hidden = true;
  root.replaceChildren(map, timeline, panels);
  await mountFleet(map, new PageFleetHost(LINK, written, timelineIn(timeline)), signal);
  await mountEmbedded(panels, LINK, signal);
}

const root = document.getElementById("tfvis-root");
if (root) show(root);
