/** The exported page's entry: the same timeline over data that lies in the page itself. */
// Built with: OWNS_PAGE.

import type { Options } from "../host/host";
import { embeddedHost, ownOptions } from "../host/own_page";
import { mount } from "../view/mount";

const root = document.getElementById("tfvis-root");
if (root) {
  root.replaceChildren();
  root.classList.toggle("framed", parent !== window);
  const host = embeddedHost(ownOptions<Partial<Options>>());
  mount(root, host, new AbortController().signal).then((mounted) => Object.assign(root, { tfvis: mounted }));
}
