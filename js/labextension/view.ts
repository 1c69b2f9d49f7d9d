/** A file's timeline or monitor in a tab of JupyterLab; it comes with the first file that is opened. */
// Built with: HAS_KERNEL.

import { createElement, render } from "preact";
import { KernelTimelineHost } from "../host/kernel_host";
import { openFile, type ServerModel } from "../host/server_model";
import { KernelMonitorHost } from "../monitor/kernel_host";
import { mountMonitor } from "../monitor/mount_monitor";
import { Message } from "../ui/message";
import { styledShadow } from "../ui/styled_shadow";
import { detectTheme } from "../ui/theme";
import { mount } from "../view/mount";
import { STYLES } from "../view/styles";

const MONITOR_LOST = "The connection to the server is lost. Close this tab and open the file again.";

class FileMonitorHost extends KernelMonitorHost {
  override readonly source = "server";
  override readonly patience = "The server is busy. It answers when it can.";

  override trouble(): string | null {
    return super.trouble() && MONITOR_LOST;
  }
}

/** Shows the file in `element`, which it fills, until `signal` aborts. */
export default async function showFile(
  element: HTMLElement,
  socket: WebSocket,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const name = path.split("/").at(-1);
  const waiting = message(element, signal);
  waiting.show(`Reading ${name} …`, "", true);
  try {
    const { view, model } = await openFile(socket, path, signal);
    waiting.end();
    if (view === "monitor") showMonitor(element, model, signal);
    else await showTimeline(element, model, signal);
  } catch (error) {
    if (!signal.aborted) waiting.show(`${name} cannot be shown`, (error as Error).message, false);
  }
}

async function showTimeline(element: HTMLElement, model: ServerModel, signal: AbortSignal): Promise<void> {
  const box = addBox(element, "tfvis-nb");
  const host = Object.assign(new KernelTimelineHost(model.asModel), { fills: true, source: "server" });
  followHeight(element, model, signal);
  const mounted = await mount(box, host, signal);
  box.shadowRoot?.querySelector("[data-part=grip]")?.remove();
  Object.assign(box, { tfvis: mounted });
}

function showMonitor(element: HTMLElement, model: ServerModel, signal: AbortSignal): void {
  const box = addBox(element, "tfvis-nb-monitor");
  const height = { read: () => element.clientHeight, write: () => {} };
  element.style.overflow = "auto";
  const store = mountMonitor(box, new FileMonitorHost(model.asModel, signal), signal, height);
  followHeight(element, model, signal);
  model.on("change:height", () => store.emit());
}

/** The tab's height is the widget's; the server need not know it. */
function followHeight(element: HTMLElement, model: ServerModel, signal: AbortSignal): void {
  const fit = () => element.clientHeight && model.setHere("height", element.clientHeight);
  fit();
  const observer = new ResizeObserver(fit);
  observer.observe(element);
  signal.addEventListener("abort", () => observer.disconnect());
}

function addBox(element: HTMLElement, name: string): HTMLElement {
  const box = document.createElement("div");
  box.className = name;
  element.append(box);
  return box;
}

function message(element: HTMLElement, signal: AbortSignal) {
  const box = addBox(element, "tfvis-nb-message");
  const root = document.createElement("div");
  root.className = "tfv";
  root.style.height = "100%";
  box.style.height = "100%";
  root.dataset.theme = detectTheme(element);
  styledShadow(box, STYLES).append(root);
  signal.addEventListener("abort", () => box.remove());
  return {
    show: (title: string, text: string, isWaiting: boolean) =>
      render(
        createElement(Message, { title, text, ...(isWaiting && { progress: { done: 0, total: 0 } }) }),
        root,
      ),
    end: () => box.remove(),
  };
}
