/** The entry of an exported comparison: two timelines, and under them what differs, from the page itself. */
// Built with: HAS_PANELS, OWNS_PAGE.

import type { Options, Pair } from "../host/host";
import { embeddedHost, ownOptions } from "../host/own_page";
import type { StaticHost } from "../host/static_host";
import { mountEmbedded } from "../panels/embedded";
import { restPane } from "../ui/page_panes";
import { mountComparison } from "../view/comparison/mount_comparison";

const LINK = "page";

/** The options of both timelines and of each, as display/comparison.py writes them. */
interface Written extends Omit<Pair, "side"> {
  sides: Partial<Options>[];
}

function sideHosts(written: Written): StaticHost[] {
  const { sides, ...common } = written;
  const all = () => {
    const now = hosts.map(({ options }) => options);
    return {
      options: { ...written, sides: now },
      annotations: now.flatMap(({ annotations }) => annotations),
    };
  };
  const hosts: StaticHost[] = sides.map((options, side) =>
    Object.assign(embeddedHost(options, `-${side}`, all), { link: LINK, pair: { side, ...common } }),
  );
  return hosts;
}

async function show(root: HTMLElement): Promise<void> {
  const { signal } = new AbortController();
  const hosts = sideHosts(ownOptions<Written>());
  const timelines = document.createElement("div");
  const panels = restPane();
  root.replaceChildren(timelines, panels);
  await mountComparison(timelines, hosts, signal);
  await mountEmbedded(panels, LINK, signal);
}

const root = document.getElementById("tfvis-root");
if (root) show(root);
