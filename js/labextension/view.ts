/** A file's timeline or monitor in a tab of JupyterLab; it comes with the first file that is opened. */
// Built with: HAS_KERNEL.

import type { AnyModel } from "@anywidget/types";
import { createElement, render } from "preact";
import type { ExportFormat, Options } from "../host/host";
import { KernelTimelineHost } from "../host/kernel_host";
import { notesOf } from "../host/notes";
import { follow, ServerModel } from "../host/server_model";
import { MonitorHost } from "../monitor/host";
import { mountMonitor } from "../monitor/mount_monitor";
import { save } from "../ui/download";
import { Message } from "../ui/message";
import { styledShadow } from "../ui/styled_shadow";
import { detectTheme } from "../ui/theme";
import { mount } from "../view/mount";
import { STYLES } from "../view/styles";

const MONITOR_LOST = "The connection to the server is lost. Close this tab and open the file again.";

class FileMonitorHost extends MonitorHost {
  override readonly source = "server";
  override readonly patience = "The server is busy. It answers when it can.";

  override trouble(): string | null {
    return super.trouble() && MONITOR_LOST;
  }
}

/** Exports pages with the notes. */
export type SaveNotes = () => Promise<void>;

/** Tells `changed` whether there are annotations or named views that no exported page has. */
class FileTimelineHost extends KernelTimelineHost {
  readonly fills = true;
  readonly source = "server";
  #kept = this.#notes();

  constructor(
    model: AnyModel,
    readonly changed: (areUnsaved: boolean) => void,
  ) {
    super(model);
  }

  override set<K extends keyof Options>(key: K, value: Options[K]): void {
    super.set(key, value);
    if (key === "annotations" || key === "views") this.changed(this.#notes() !== this.#kept);
  }

  /** The tab itself asks for notes to be saved. */
  override get trouble(): string {
    return this.end.aborted ? super.trouble : "";
  }

  #notes(): string {
    return notesOf([{ annotations: this.get("annotations"), views: this.get("views") }]);
  }

  override async export(format: ExportFormat, signal: AbortSignal) {
    const notes = this.#notes();
    const file = await super.export(format, signal);
    if (format === "html") {
      this.#kept = notes;
      this.changed(this.#notes() !== notes);
    }
    return file;
  }
}

/**
 * Shows the file in `element`, which it fills, until `signal` aborts; `changed` hears whether there are notes to be
 * saved. Returns what saves them.
 */
export default async function showFile(
  element: HTMLElement,
  socket: WebSocket,
  path: string,
  signal: AbortSignal,
  changed: (areUnsaved: boolean) => void,
): Promise<SaveNotes | undefined> {
  const name = path.split("/").at(-1);
  const waiting = message(element, signal);
  waiting.show(`Reading ${name} …`, "", true);
  try {
    const model = new ServerModel();
    const view = await follow(model, socket, signal, { path });
    waiting.end();
    if (view === "timeline") return await showTimeline(element, model, signal, changed);
    return showMonitor(element, model, signal, changed);
  } catch (error) {
    if (!signal.aborted) waiting.show(`${name} cannot be shown`, (error as Error).message, false);
  }
  return undefined;
}

async function showTimeline(
  element: HTMLElement,
  model: ServerModel,
  signal: AbortSignal,
  changed: (areUnsaved: boolean) => void,
): Promise<SaveNotes> {
  const box = addBox(element, "tfvis-nb");
  const host = new FileTimelineHost(model.asModel, changed);
  followHeight(element, model, signal);
  const mounted = await mount(box, host, signal);
  Object.assign(box, { tfvis: mounted });
  return async () => {
    try {
      const { name, bytes } = await host.export("html", signal);
      save(name, new Blob([bytes as BlobPart]));
    } catch (error) {
      mounted?.store.fail(`Export failed: ${(error as Error).message}`);
      throw error;
    }
  };
}

function showMonitor(
  element: HTMLElement,
  model: ServerModel,
  signal: AbortSignal,
  changed: (areUnsaved: boolean) => void,
): SaveNotes {
  const box = addBox(element, "tfvis-nb-monitor");
  const height = { read: () => element.clientHeight, write: () => {} };
  element.style.overflow = "auto";
  const store = mountMonitor(box, new FileMonitorHost(model.asModel, signal), signal, height);
  followHeight(element, model, signal);
  model.on("change:height", () => store.emit());
  store.on(() => changed(store.withUnsavedNotes.length > 0));
  return () => store.saveNotes();
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
