/** The timeline's side of a dashboard link: it publishes its view and follows requests. */

import { joinLink, type LinkMessage } from "../host/channel";
import { nameOf, opOf } from "../model/lanes/event_text";
import { highlightMask } from "../model/search/highlight";
import { NO_STEP } from "../model/types";
import type { Viewport } from "../model/viewport";
import type { Navigation } from "./navigation";
import { rangeFigures } from "./range_figures";
import type { Store } from "./store";

/** Views that follow each other this soon are one movement, which Backspace takes back as a whole. */
const ONE_MOVEMENT_MS = 600;
/** A pointer that crosses a table lights nothing on its way. */
const REST_MS = 40;

export type Selected = Extract<LinkMessage, { kind: "select" }>;

export class DashboardLink {
  protected readonly publish: (message: LinkMessage) => void;
  /** State that the others have sent or received, so that it need not be sent again. */
  #view: Viewport | null = null;
  protected known: string;
  #step: number | null = null;
  #hover: number | null = null;
  #frame = 0;
  #timer = 0;
  #movement = { number: 0, at: Number.NEGATIVE_INFINITY };

  constructor(
    readonly store: Store,
    readonly navigation: Navigation,
    link: string,
  ) {
    const { signal } = store;
    this.publish = joinLink(link, (message) => this.onMessage(message), signal);
    this.known = JSON.stringify(store.host.get("selection"));
    store.on(["viewport"], () => this.#viewSoon());
    store.on(["layout"], () => this.#publishStep());
    store.on(["selection"], () => this.publishSelection());
    store.on(["hover"], () => this.#publishHover());
    signal.addEventListener("abort", () => {
      cancelAnimationFrame(this.#frame);
      clearTimeout(this.#timer);
    });
    this.#publishStep();
    this.#viewSoon();
  }

  #publishStep(): void {
    const { step: index, run } = this.store;
    const step = index === null ? null : run.steps[index].step;
    if (step === this.#step) return;
    this.#step = step;
    this.publish({ kind: "step", step });
  }

  protected onMessage(message: LinkMessage): void {
    if (message.kind === "ask") {
      this.#view = null;
      this.#step = null;
      this.#publishStep();
      this.#viewSoon();
    } else if (message.kind === "view") this.#follow(message);
    else if (message.kind === "select") this.select(message);
    else if (message.kind === "hover") {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#highlight(message.name), REST_MS) as unknown as number;
    }
  }

  /** At most once a frame: a gesture changes the view more often than anybody can draw it. */
  #viewSoon(): void {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      const { store } = this;
      const { start, end } = store.viewport;
      // Aligned steps have times of their own.
      if (store.aligned || (this.#view?.start === start && this.#view.end === end)) return;
      this.#view = { start, end };
      this.publish({ kind: "view", start, end });
    });
  }

  #follow({ start, end }: Viewport): void {
    const { store } = this;
    this.#uncover({ start, end });
    const now = performance.now();
    if (now - this.#movement.at > ONE_MOVEMENT_MS) this.#movement.number++;
    this.#movement.at = now;
    store.setViewport({ start, end }, `link ${this.#movement.number}`);
    this.#view = store.viewport;
  }

  /** Show the step that a range of time lies in, or all of them. */
  #uncover({ start, end }: Viewport): void {
    const { store } = this;
    const { bounds } = store;
    if (!store.aligned && start < bounds.end && end > bounds.start && this.#fits({ start, end })) return;
    const at = store.run.steps.findIndex(
      (step) => step.step !== NO_STEP && step.start <= start && end <= step.end,
    );
    if (store.aligned || store.step !== null) store.showStep(at >= 0 && store.step !== null ? at : null);
  }

  #fits({ start, end }: Viewport): boolean {
    const { bounds, step } = this.store;
    const room = (bounds.end - bounds.start) * 0.1;
    return step === null || (start >= bounds.start - room && end <= bounds.end + room);
  }

  protected select({ events, of, start, end, lanes }: Selected): void {
    const { store, navigation } = this;
    const range = start !== undefined && end !== undefined ? { start, end: Math.max(end, start + 1) } : null;
    if (range) this.#uncover(range);
    const selection = events?.length
      ? { events: [...events] }
      : range && (lanes?.length || lanes === null)
        ? { ...range, lanes: lanes && [...lanes], step: null }
        : null;
    this.known = JSON.stringify(selection);
    store.selectInRun(selection, of);
    if (!range) {
      if (selection) navigation.revealSelection();
      return;
    }
    if (store.selected !== null) navigation.keepSelectedInSight();
    else if (lanes?.length) navigation.keepLanesInSight(lanes);
    navigation.show(range);
  }

  protected publishSelection(): void {
    const { store } = this;
    const selection = store.host.get("selection");
    const text = JSON.stringify(selection);
    if (text === this.known) return;
    this.known = text;
    if (!selection) this.publish({ kind: "select" });
    else if ("events" in selection) {
      const event = selection.events.length === 1 ? store.selected : null;
      const called = event === null ? {} : { name: nameOf(store.drawn, event), op: opOf(store.drawn, event) };
      this.publish({ kind: "select", events: selection.events, ...called });
    } else {
      const { start, end, lanes } = selection;
      const inRange = rangeFigures(store, selection);
      // Tables of nothing say less than those of the whole trace: a click selects the time in which a device was idle.
      const isIdle = inRange.events?.length === 0;
      this.publish({ kind: "select", start, end, ...(lanes && { lanes }), ...(!isIdle && { inRange }) });
    }
  }

  #publishHover(): void {
    const { store } = this;
    const id = store.hover?.id ?? null;
    if (id === this.#hover) return;
    this.#hover = id;
    if (id === null) this.publish({ kind: "hover", name: null });
    else this.publish({ kind: "hover", name: nameOf(store.drawn, id), op: opOf(store.drawn, id) });
  }

  /** Dim all events of other names; null restores the search result. */
  #highlight(name: string | null): void {
    const { store } = this;
    store.highlight(name ? highlightMask(store.drawn, name) : null);
  }
}
