/** Draws at most once a frame, and only the canvases whose picture has changed. */

import { ticks } from "../../model/format/ticks";
import type { Store } from "../../state/store";
import type { Topic } from "../../state/topics";
import { timeText } from "../../state/wall_clock";
import { readTokens, type Tokens } from "../../ui/theme";
import { Bars } from "./bars";
import { Minimap } from "./minimap";
import { drawOverlay } from "./overlay";
import { drawRuler } from "./ruler";
import { type CanvasSurface, fitSurface, makeSurface } from "./surface";

export interface Stages {
  root: HTMLElement;
  minimap: HTMLElement;
  ruler: HTMLElement;
  lanes: HTMLElement;
}

/** How long the drawing of recent frames took, for the benchmark. */
export interface FrameTimes {
  /** Milliseconds of our own work, newest last. */
  work: number[];
}

/** The pictures that are out of date; the overlay is always drawn. */
interface Stale {
  bars: boolean;
  minimap: boolean;
}

const KEPT = 2000;

export class Frame {
  readonly times: FrameTimes = { work: [] };
  readonly #bars = new Bars();
  readonly #base: CanvasSurface;
  readonly #over: CanvasSurface;
  readonly #ruler: CanvasSurface;
  readonly #minimap: Minimap;
  #tokens: Tokens;
  #stale: Stale = { bars: true, minimap: true };
  #request = 0;

  constructor(
    readonly store: Store,
    readonly stages: Stages,
  ) {
    this.#base = makeSurface(stages.lanes, true);
    this.#over = makeSurface(stages.lanes, false);
    this.#ruler = makeSurface(stages.ruler, true);
    this.#minimap = new Minimap(stages.minimap, store);
    this.#tokens = readTokens(stages.root);
    const redraw = (topics: Topic[], parts: Partial<Stale>) => store.on(topics, () => this.request(parts));
    redraw(["viewport", "paint"], { bars: true });
    redraw(["layout"], { bars: true, minimap: true });
    redraw(["selection", "annotations", "hover", "details", "search", "panel"], {});
    store.signal.addEventListener("abort", () => cancelAnimationFrame(this.#request));
  }

  /** Take the colours from the style sheet again. */
  retheme(): void {
    this.#tokens = readTokens(this.stages.root);
    this.request({ bars: true, minimap: true });
  }

  resize(): void {
    this.request({ bars: true, minimap: true });
  }

  request(parts: Partial<Stale>): void {
    Object.assign(this.#stale, parts);
    if (!this.#request) this.#request = requestAnimationFrame(() => this.#draw());
  }

  /** The ruler is a picture; this is its text for screen readers. */
  #tellTime(): void {
    const { viewport } = this.store;
    const resolution = (viewport.end - viewport.start) / 1000;
    const [from, to] = [viewport.start, viewport.end].map((time) => timeText(this.store, time, resolution));
    this.stages.ruler.setAttribute("aria-label", `Time axis, ${from} to ${to}`);
  }

  #draw(): void {
    this.#request = 0;
    const { store } = this;
    // A hidden tab or a collapsed output has no size; the resize that shows it asks again.
    if (store.width < 1 || store.height < 1) return;
    const began = performance.now();
    const ruler = ticks(store.viewport, store.width);
    if (this.#stale.bars) {
      fitSurface(this.#base, store.width, store.height);
      fitSurface(this.#over, store.width, store.height);
      fitSurface(this.#ruler, store.width, 24);
      this.#bars.draw(this.#base, store, this.#tokens, ruler.ticks);
      this.#tellTime();
      this.#minimap.place();
    }
    if (this.#stale.minimap) this.#minimap.draw();
    this.#stale = { bars: false, minimap: false };
    drawRuler(this.#ruler, store, this.#tokens, ruler);
    drawOverlay(this.#over, store, this.#tokens);
    this.times.work.push(performance.now() - began);
    if (this.times.work.length > KEPT) this.times.work.splice(0, KEPT / 2);
    this.stages.root.dataset.drawn = "true";
  }
}
