/** The exported page's entry: the same timeline over data that lies in the page itself. */
// Built with: OWNS_PAGE.

import { embedded, textOf } from "../host/embedded";
import type { Options } from "../host/host";
import { StaticHost } from "../host/static_host";
import { mount } from "../view/mount";

const root = document.getElementById("tfvis-root");
if (root) {
  root.replaceChildren();
  root.classList.toggle("framed", parent !== window);
  const options = JSON.parse(textOf("tfvis-options")) as Partial<Options>;
  const parts = { drawn: () => embedded("tfvis-drawn"), details: () => embedded("tfvis-details") };
  mount(root, new StaticHost(parts, options), new AbortController().signal).then((mounted) =>
    Object.assign(root, { tfvis: mounted }),
  );
}
