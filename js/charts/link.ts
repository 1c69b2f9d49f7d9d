/** A chart's part in the link: one along the run's time follows the view and moves it, rows are found in the timeline. */

import { joinLink, type LinkMessage } from "../host/channel";
import type { BokehFigure, BokehModel, BokehSource } from "./bokeh";

/** What display/charts/style.py calls figures along the run's time, and sources whose rows are in the timeline. */
export const TIME = "tfvis-time";
const ROWS = "tfvis-rows";
const MS = 1e6;
/** Charts are drawn by a library that takes its time; while a view moves they follow some times a second. */
const FOLLOW_MS = 60;

interface View {
  start: number;
  end: number;
}

/** A figure along the run's time; its tag names the unit in nanoseconds. */
class Time {
  readonly #unit: number;

  constructor(readonly figure: BokehFigure) {
    this.#unit = Number(figure.tags[0]);
  }

  get view(): View {
    const { start, end } = this.figure.x_range;
    return { start: start * this.#unit, end: end * this.#unit };
  }

  show(view: View): void {
    const { x_range } = this.figure;
    const [start, end] = [view.start / this.#unit, view.end / this.#unit];
    if (x_range.start !== start || x_range.end !== end) x_range.setv({ start, end });
  }
}

export class ChartLink {
  readonly #publish: (message: LinkMessage) => void;
  readonly #times: Time[] = [];
  readonly #sources: BokehSource[] = [];
  /** The latest view, in ns, and whether the chart shows it. */
  #view: View | null = null;
  #isStale = false;
  #timer = 0;
  /** Changes that follow others are not sent back to them. */
  #isFollowing = false;
  #isShown = true;
  #chosen = new Map<BokehSource, number[]>();

  /** `shown` hears which part of the run, in ns, a chart along its time shows. */
  constructor(
    root: BokehModel,
    link: string,
    readonly shown: (start: number, end: number) => void,
    signal: AbortSignal,
  ) {
    this.#publish = joinLink(link, (message) => this.#onMessage(message), signal);
    for (const model of root.references()) {
      if (model.name === TIME && "x_range" in model) this.#times.push(new Time(model as BokehFigure));
      if (model.name === ROWS && "data" in model) this.#sources.push(model as BokehSource);
    }
    for (const time of this.#times) {
      const { x_range } = time.figure;
      const moved = () => this.#moved(time.view);
      x_range.change.connect(moved);
      signal.addEventListener("abort", () => x_range.change.disconnect(moved));
    }
    for (const source of this.#sources) this.#bindRows(source, signal);
    signal.addEventListener("abort", () => clearTimeout(this.#timer));
    if (this.#times.length) this.#publish({ kind: "ask" });
  }

  /** A hidden chart catches up when it is shown again. */
  setShown(isShown: boolean): void {
    this.#isShown = isShown;
    if (isShown && this.#isStale) this.#follow();
  }

  #bindRows(source: BokehSource, signal: AbortSignal): void {
    const tapped = () => this.#tapped(source);
    const pointed = () => this.#pointed(source);
    source.selected.change.connect(tapped);
    source.inspected.change.connect(pointed);
    signal.addEventListener("abort", () => {
      source.selected.change.disconnect(tapped);
      source.inspected.change.disconnect(pointed);
    });
  }

  #tapped(source: BokehSource): void {
    if (this.#isFollowing) return;
    const { indices } = source.selected;
    this.#chosen.set(source, [...indices]);
    const { start_ms, end_ms, events } = source.data;
    if (events && indices.length > 0)
      this.#publish({
        kind: "select",
        events: indices.flatMap((row) => Array.from(events[row] as number[])),
      });
    if (!start_ms || !end_ms || indices.length === 0) return;
    const start = Math.min(...indices.map((row) => Number(start_ms[row])));
    const end = Math.max(...indices.map((row) => Number(end_ms[row])));
    if (Number.isFinite(start) && Number.isFinite(end))
      this.#publish({ kind: "select", start: start * MS, end: end * MS });
  }

  #pointed(source: BokehSource): void {
    if (!source.data.name) return;
    const [row] = source.inspected.indices;
    this.#publish({ kind: "hover", name: row === undefined ? null : String(source.data.name[row]) || null });
  }

  #moved({ start, end }: View): void {
    if (this.#isFollowing || !(end > start)) return;
    const known = this.#view;
    const near = (end - start) * 1e-6;
    if (known && Math.abs(known.start - start) < near && Math.abs(known.end - end) < near) return;
    // Until the first view arrives, the chart moves only because it lays itself out.
    if (!known) return;
    this.#view = { start, end };
    this.#others({ start, end });
    this.#publish({ kind: "view", start, end });
  }

  /** More than one figure of a panel can be along the time. */
  #others(view: View): void {
    this.#quietly(() => {
      for (const time of this.#times) time.show(view);
    });
    this.shown(view.start, view.end);
  }

  #onMessage(message: LinkMessage): void {
    if (message.kind === "view") {
      this.#view = { start: message.start, end: message.end };
      this.#isStale = this.#times.length > 0;
      if (this.#isStale && this.#isShown && !this.#timer) {
        this.#follow();
        this.#timer = setTimeout(() => {
          this.#timer = 0;
          if (this.#isStale && this.#isShown) this.#follow();
        }, FOLLOW_MS) as unknown as number;
      }
    } else if (message.kind === "hover") this.#highlight(message.name, message.op);
    else if (message.kind === "select" && message.events) this.#choose(message.name, message.op);
  }

  #follow(): void {
    this.#isStale = false;
    if (this.#view) this.#others(this.#view);
  }

  /** The rows under the pointer in another view; afterwards the chosen rows again. */
  #highlight(name: string | null, op: string | undefined): void {
    for (const source of this.#sources) {
      const rows = name === null ? [] : rowsOf(source, name, op);
      this.#setRows(source, rows.length ? rows : (this.#chosen.get(source) ?? []));
    }
  }

  #choose(name: string | undefined, op: string | undefined): void {
    for (const source of this.#sources) {
      const rows = name === undefined ? [] : rowsOf(source, name, op);
      this.#chosen.set(source, rows);
      this.#setRows(source, rows);
    }
  }

  #setRows(source: BokehSource, indices: number[]): void {
    if (String(source.selected.indices) !== String(indices))
      this.#quietly(() => source.selected.setv({ indices }));
  }

  #quietly(change: () => void): void {
    this.#isFollowing = true;
    try {
      change();
    } finally {
      this.#isFollowing = false;
    }
  }
}

/** The rows that are of a node, or of its op type. */
function rowsOf(source: BokehSource, name: string, op: string | undefined): number[] {
  const names = source.data.name ? Array.from(source.data.name) : [];
  return names.flatMap((each, row) => (each && (each === name || each === op) ? [row] : []));
}
