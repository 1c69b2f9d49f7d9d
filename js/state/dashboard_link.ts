/** The timeline's side of a dashboard link: it publishes its view and follows requests. */

import { joinLink, type LinkMessage, type RangeFigures, type RangeRow } from "../host/channel";
import { activityIn, kindIn, kindOf, moves, nameOf, opOf } from "../model/lanes/event_text";
import { deviceLocation } from "../model/lanes/labels";
import { moveOf } from "../model/lod/folded";
import { eventsIn, type RangeSelection, rangeStatistics } from "../model/search/range_statistics";
import { highlightMask } from "../model/search/search";
import { NO_STEP } from "../model/types";
import type { Viewport } from "../model/viewport";
import type { DetailsView } from "../model/wire/details";
import type { Navigation } from "./navigation";
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

/** Figures of a selected range: where the browser has the events, its own; else the kernel's. */
function rangeFigures(store: Store, range: RangeSelection): RangeFigures {
  const { run, remote, details } = store;
  let events: ArrayLike<number> | null = null;
  return {
    length: range.end - range.start,
    get events() {
      if (!remote) events ??= eventsIn(run, range);
      return events;
    },
    async rows(by) {
      if (by === "route") return this.events && details && routes(store, details, Array.from(this.events));
      const found = remote ? await remote.statistics(range, by) : rangeStatistics(run, range, by);
      if (!found) return null;
      // The order of the table of the whole trace.
      const rows = [...found.rows].sort((a, b) => (b.self ?? -1) - (a.self ?? -1) || b.total - a.total);
      return rows.map(({ label, category, longest, count, total, self, mean, p50, p99 }) => ({
        cells: {
          [by]: label,
          kind: kindIn(run.categories[category]),
          self_ns: self,
          total_ns: total,
          count,
          mean_ns: mean,
          p50_ns: p50,
          p99_ns: p99,
        },
        event: longest,
        colour: activityIn(run.categories[category]),
      }));
    },
  };
}

type Span = readonly [start: number, end: number];

/** As transfer_matrix in analysis/communication: one row for what moved between two devices, the busiest first. */
function routes({ run }: Store, details: DetailsView, events: readonly number[]): RangeRow[] {
  const between = new Map<string, number[]>();
  for (const id of events) {
    if (!moves(run, id)) continue;
    const key = [kindOf(run, id), details.source(id), details.destination(id)].join("\0");
    between.set(key, [...(between.get(key) ?? []), id]);
  }
  const rows = [...between.values()].map((ids) => {
    const sizes = ids.map((id) => details.bytes(id));
    // A tensor waits after its start, a copy before it.
    const waits = ids.map((id): Span => {
      const start = run.start[id];
      return kindOf(run, id) === "transfer"
        ? [start, start + (run.wait?.[id] ?? 0)]
        : [details.scheduled(id) ?? start, start];
    });
    const moving = ids.map((id) => moveOf(run, id));
    const bytes = sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
    const busy = covered(moving);
    const name = (device: string | null) => (device ? deviceLocation(device) : "");
    return {
      cells: {
        source: name(details.source(ids[0])),
        destination: name(details.destination(ids[0])),
        bytes: sizes.every((size) => size === null) ? null : bytes,
        count: ids.length,
        busy_ns: busy,
        wait_ns: covered(waits),
        mean_wait_ns: waits.reduce((sum, [start, end]) => sum + end - start, 0) / ids.length,
        bandwidth: busy && !sizes.includes(null) ? (1e9 * bytes) / busy : null,
      },
      event: ids.reduce((most, id) => ((details.bytes(id) ?? 0) > (details.bytes(most) ?? 0) ? id : most)),
      colour: "",
    };
  });
  return rows.sort((a, b) => b.cells.busy_ns - a.cells.busy_ns);
}

/** The time that spans cover together. */
function covered(spans: readonly Span[]): number {
  let sum = 0;
  let reached = Number.NEGATIVE_INFINITY;
  for (const [start, end] of [...spans].sort((a, b) => a[0] - b[0])) {
    sum += Math.max(end - Math.max(start, reached), 0);
    reached = Math.max(reached, end);
  }
  return sum;
}
