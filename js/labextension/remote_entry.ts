/** What JupyterLab loads at its start: a container of one module, as webpack's module federation makes them. */

import { packagesOf, type ShareScope } from "./jupyterlab";
import { plugin } from "./plugin";

interface Containers {
  _JUPYTERLAB?: Record<string, unknown>;
}

/** Beside this one and of the same version. */
const view = (document.currentScript as HTMLScriptElement).src.replace("/remote_entry", "/view");
let shared: ShareScope = {};

const page = window as Containers;
page._JUPYTERLAB ??= {};
page._JUPYTERLAB["tfvis-nb"] = {
  init(scope: ShareScope): void {
    shared = scope;
  },
  /** The only module is "./extension". Voila loads it as well, and has no documents. */
  async get(): Promise<() => unknown> {
    const packages = await packagesOf(shared);
    return () => ({ __esModule: true, default: packages ? plugin(packages, view) : [] });
  },
};
