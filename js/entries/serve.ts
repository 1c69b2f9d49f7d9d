/** The page of `tfvis-nb serve`: a session's monitor. */

import { HttpMonitorHost } from "../monitor/http_host";
import { mountMonitor } from "../monitor/mount_monitor";

const root = document.getElementById("tfvis-root");
if (root) {
  root.replaceChildren();
  const { signal } = new AbortController();
  mountMonitor(root, new HttpMonitorHost(signal), signal);
}
