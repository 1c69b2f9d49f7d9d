/** Draws at most once a frame, and only the canvases whose picture has changed. */

import { ticks } from "../../model/format/ticks";
import { clampViewport, type Viewport, xAt } from "../../model/viewport";
import type { Store } from "../../state/store";
import type { Topic } from "../../state/view_state";
import { timeText } from "../../state/wall_clock";
import type { Tokens } from "../../ui/theme";
import { ACTIVITY_HEIGHT, drawActivity, wholeView } from "./activity";
import { Bars } from "./bars";
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
  #tokens!: Tokens;
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
    const redraw = (topics: Topic[], parts: Partial<Stale>) => store.on(topics, () => this.request(parts));
    redraw(["viewport", "paint"], { bars: true });
    redraw(["layout"], { bars: true, minimap: true });
    redraw(["selection", "annotations", "hover", "details", "search", "panel"], {});
    store.signal.addEventListener("abort", () => cancelAnimationFrame(this.#request));
  }

  /** Take these colours from now on; nothing is drawn without. */
  retheme(tokens: Tokens): void {
    this.#tokens = tokens;
    this.request({ bars: true, minimap: true });
  }

  /** Draw at once: a resize is noticed before its frame is painted, and would be drawn one frame later. */
  resize(): void {
    cancelAnimationFrame(this.#request);
    this.#stale = { bars: true, minimap: true };
    this.#draw();
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

/** Clicks that follow each other sooner may be one double click. */
const DOUBLE_CLICK_MS = 500;

class Minimap {
  readonly #surface;
  /** Numbers the tasks here, with the start of the last one. */
  #gesture = 0;
  #began = Number.NEGATIVE_INFINITY;
  readonly #brush = document.createElement("div");
  #drag: { mode: "move" | "left" | "right" | "new"; x: number; view: Viewport } | null = null;

  constructor(
    readonly element: HTMLElement,
    readonly store: Store,
  ) {
    this.#surface = makeSurface(element, false);
    this.#brush.className = "brush";
    element.append(this.#brush);
    const { signal } = store;
    element.addEventListener("pointerdown", (event) => this.#begin(event), { signal });
    element.addEventListener("pointermove", (event) => this.#move(event), { signal });
    element.addEventListener("lostpointercapture", () => this.#end(), { signal });
    element.addEventListener("dblclick", () => this.#show(this.#whole), { signal });
  }

  get #whole(): Viewport {
    return wholeView(this.store);
  }

  /** Redraw the load; needed when the data, the lanes shown, the theme or the width change. */
  draw(): void {
    fitSurface(this.#surface, this.store.width, ACTIVITY_HEIGHT);
    drawActivity(this.#surface, this.store);
  }

  /** Move the brush to the part in view. */
  place(): void {
    const whole = this.#whole;
    const x0 = xAt(whole, this.store.viewport.start, this.store.width);
    const x1 = xAt(whole, this.store.viewport.end, this.store.width);
    this.#brush.style.transform = `translateX(${Math.min(x0, this.store.width - 4)}px)`;
    this.#brush.style.width = `${Math.max(x1 - x0, 4)}px`;
  }

  #time(event: PointerEvent): number {
    const whole = this.#whole;
    const x = event.clientX - this.element.getBoundingClientRect().left;
    return whole.start + (x / Math.max(this.store.width, 1)) * (whole.end - whole.start);
  }

  #begin(event: PointerEvent): void {
    if (event.button !== 0) return;
    event.preventDefault();
    const brush = this.#brush.getBoundingClientRect();
    const near = (x: number) => Math.abs(event.clientX - x) < 6;
    const view = this.store.viewport;
    const isWhole = view.end - view.start >= (this.#whole.end - this.#whole.start) * 0.999;
    let mode: "move" | "left" | "right" | "new" = "new";
    if (brush.width > 14 && near(brush.left)) mode = "left";
    else if (brush.width > 14 && near(brush.right)) mode = "right";
    else if (!isWhole && event.clientX >= brush.left && event.clientX <= brush.right) mode = "move";
    // Both clicks of a double click are one step back.
    if (event.timeStamp - this.#began > DOUBLE_CLICK_MS) this.#gesture++;
    this.#began = event.timeStamp;
    this.element.setPointerCapture(event.pointerId);
    this.#drag = { mode, x: this.#time(event), view };
  }

  #move(event: PointerEvent): void {
    if (!this.#drag) return;
    const { mode, x, view } = this.#drag;
    const time = this.#time(event);
    let next: Viewport;
    if (mode === "move") next = { start: view.start + time - x, end: view.end + time - x };
    else if (mode === "left") next = { start: Math.min(time, view.end), end: Math.max(time, view.end) };
    else if (mode === "right") next = { start: Math.min(view.start, time), end: Math.max(view.start, time) };
    else next = { start: Math.min(x, time), end: Math.max(x, time) };
    if (mode === "new" && next.end - next.start < (this.#whole.end - this.#whole.start) * 0.004) return;
    this.#show(clampViewport(next, this.store.bounds));
  }

  #show(view: Viewport): void {
    this.store.setViewport(view, `overview ${this.#gesture}`);
  }

  /** A click outside the brush centres the view there. */
  #end(): void {
    const drag = this.#drag;
    this.#drag = null;
    if (drag?.mode !== "new" || this.store.viewport !== drag.view) return;
    const half = (drag.view.end - drag.view.start) / 2;
    this.#show({ start: drag.x - half, end: drag.x + half });
  }
}
