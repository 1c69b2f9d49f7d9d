/** The contents of a dashboard's tabs as a Jupyter kernel's model holds them; it pushes each one when it is computed. */

import type { AnyModel } from "@anywidget/types";
import { ViewTraits } from "../host/anywidget";
import { joinLink } from "../host/channel";
import { endOf } from "../host/kernel_end";
import { requestBokeh, requestKernel, send } from "../host/kernel_messages";
import type { Change } from "../host/messages";
import type { Outcome, Part } from "../model/wire/schema";
import type { PanelsHost, PartName } from "./host";

/** A timeline that cannot be shown sends no message. */
const LATEST_START_MS = 20_000;

export class KernelTabsHost implements PanelsHost {
  readonly #read = new Map<string, { text: string; contents: Part }>();
  readonly #traits: ViewTraits;
  #seen = "";

  constructor(
    readonly model: AnyModel,
    readonly signal: AbortSignal,
  ) {
    this.#traits = new ViewTraits(model);
    this.#startLater();
  }

  /**
   * Have the tabs computed, once the timeline is drawn: the two would take each other's time. A host whose threads
   * may not send computes one part for each message.
   */
  #startLater(): void {
    const waiting = new AbortController();
    this.signal.addEventListener("abort", () => waiting.abort());
    const isLive = () => !endOf(this.model).aborted;
    const next = () => this.#isMissing && isLive() && send(this.model, { kind: "start" });
    const start = () => {
      waiting.abort();
      clearTimeout(timer);
      if (isLive()) send(this.model, { kind: "start" });
      this.watch(() => this.#isNew() && setTimeout(next), this.signal);
    };
    // The first message of a timeline is its view.
    joinLink(this.link, ({ kind }) => kind === "view" && start(), waiting.signal);
    const timer = setTimeout(start, LATEST_START_MS);
    this.signal.addEventListener("abort", () => clearTimeout(timer));
  }

  get #arrived(): number {
    const errors = Object.keys(this.model.get("_errors") ?? {}).length;
    return errors + this.#named.filter(([, , trait]) => this.model.get(trait)).length;
  }

  get #isMissing(): boolean {
    return !this.signal.aborted && this.#arrived < this.#named.length;
  }

  /** Whether more has come since this was asked last. */
  #isNew(): boolean {
    const before = this.#seen;
    this.#seen = `${this.#named.length} ${this.#arrived}`;
    return this.#seen !== before;
  }

  get parts(): readonly PartName[] {
    return this.#named.map(([tab, title]) => ({ tab, title }));
  }

  /** The title of the tab, the title and the trait of each part. */
  get #named(): [string, string, string][] {
    return this.model.get("_tabs");
  }

  get computing(): string {
    const current: string = this.model.get("_current");
    const trait = this.#named.find(([, title]) => title === current)?.[2];
    return trait && !this.model.get(trait) && !this.model.get("_errors")[current] ? current : "";
  }

  get link(): string {
    return this.model.get("_link");
  }

  get chosen(): string {
    return this.model.get("_chosen");
  }

  set chosen(title: string) {
    this.#traits.set("_chosen", title);
  }

  get change(): Change | null {
    return this.model.get("_what_if") ?? null;
  }

  set change(change: Change) {
    this.#traits.set("_what_if", change);
  }

  get bokehVersion(): string {
    return this.model.get("_bokeh");
  }

  part(name: string): Part | null {
    const error: string | undefined = (this.model.get("_errors") as Record<string, string>)[name];
    if (error) throw new Error(error);
    const [, , trait] = this.#named.find(([, title]) => title === name)!;
    const text: string = this.model.get(trait);
    if (!text) endOf(this.model).throwIfAborted();
    if (!text) return null;
    const read = this.#read.get(name);
    if (read?.text === text) return read.contents;
    const contents = JSON.parse(text) as Part;
    this.#read.set(name, { text, contents });
    return contents;
  }

  watch(changed: () => void, signal: AbortSignal): void {
    this.model.on("change", changed);
    endOf(this.model).addEventListener("abort", changed, { signal });
    signal.addEventListener("abort", () => this.model.off("change", changed));
  }

  readonly predict = (change: Change): Promise<Outcome> =>
    requestKernel(this.model, { kind: "what_if", change }, this.signal, ({ answer }) => answer as Outcome);

  readonly openPredicted = (change: Change): Promise<unknown> =>
    requestKernel(this.model, { kind: "open", change }, this.signal, () => true);

  bokeh(): Promise<Uint8Array> {
    return requestBokeh(this.model, this.signal);
  }
}
