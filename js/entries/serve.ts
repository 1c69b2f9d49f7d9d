/** The page of `tfvis-nb serve`: a session's monitor. */

import { mountMonitor } from "../monitor/mount_monitor";
import { ServerMonitorHost } from "../monitor/server_host";

const root = document.getElementById("tfvis-root");
if (root) {
  root.replaceChildren();
  const { signal } = new AbortController();
  mountMonitor(root, new ServerMonitorHost(signal), signal);
}
