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
  /** The only module is "./extension". */
  async get(): Promise<() => unknown> {
    const extension = plugin(await packagesOf(shared), view);
    return () => ({ __esModule: true, default: extension });
  },
};
