/** The window of time that is shown: pure arithmetic between times (ns) and positions (px). */

/** Nanoseconds from the origin; `start` < `end`. */
export interface Viewport {
  start: number;
  end: number;
}

/** The narrowest window (ns). */
const MIN_SPAN_NS = 10;
/** Room before the first and after the last event, as a share of the whole. */
const GUTTER = 0.01;

/** `v` moved and narrowed as little as needed to lie within `bounds` and their gutters, at least 10 ns wide. */
export function clampViewport(v: Viewport, bounds: Viewport): Viewport {
  const gutter = Math.max((bounds.end - bounds.start) * GUTTER, MIN_SPAN_NS / 2);
  const earliest = bounds.start - gutter;
  const latest = bounds.end + gutter;
  const span = Math.min(Math.max(v.end - v.start, MIN_SPAN_NS), latest - earliest);
  if (!(span < latest - earliest)) return { start: earliest, end: latest };
  // Widening a window that was too narrow keeps its middle.
  const start = v.end - v.start < span ? (v.start + v.end) / 2 - span / 2 : v.start;
  const left = Math.min(Math.max(start, earliest), latest - span);
  return { start: left, end: left + span };
}

/** The window magnified by `factor` (2 zooms in, 0.5 out) around the time `at`, which keeps its position on screen. */
export function zoomAt(v: Viewport, factor: number, at: number, bounds: Viewport): Viewport {
  const span = v.end - v.start;
  const wanted = Math.max(span / factor, MIN_SPAN_NS);
  const start = at - ((at - v.start) / span) * wanted;
  return clampViewport({ start, end: start + wanted }, bounds);
}

/** The window moved by `delta` ns (later when positive), its width unchanged. */
export function pan(v: Viewport, delta: number, bounds: Viewport): Viewport {
  return clampViewport({ start: v.start + delta, end: v.end + delta }, bounds);
}

/** A window around `range` with `margin` (a part of the range's width) at each side. */
export function fit(range: Viewport, bounds: Viewport, margin: number): Viewport {
  const room = (range.end - range.start) * margin;
  return clampViewport({ start: range.start - room, end: range.end + room }, bounds);
}

/** The time at `x` of a window drawn `width` px wide. */
export function timeAt(v: Viewport, x: number, width: number): number {
  return v.start + (x / width) * (v.end - v.start);
}

/** Where the time `t` is in a window drawn `width` px wide; outside of 0 to `width` when it is out of view. */
export function xAt(v: Viewport, t: number, width: number): number {
  return ((t - v.start) / (v.end - v.start)) * width;
}

const REMEMBERED = 200;

/** The views a user has left, to go back to and forth again. */
export class History<View> {
  #left: View[] = [];
  #undone: View[] = [];
  #gesture: string | null = null;

  get isUsed(): boolean {
    return this.#left.length > 0;
  }

  /** Remember `v`, the view that is being left. Only the first view of a gesture is kept. */
  push(v: View, gesture: string): void {
    if (gesture === this.#gesture) return;
    this.#gesture = gesture;
    this.#undone = [];
    this.#left.push(v);
    if (this.#left.length > REMEMBERED) this.#left.shift();
  }

  /** The view left last, or null; `present` is where `forward` will return to. */
  back(present: View): View | null {
    return this.#step(this.#left, this.#undone, present);
  }

  /** The view `back` was called from, or null. */
  forward(present: View): View | null {
    return this.#step(this.#undone, this.#left, present);
  }

  #step(from: View[], to: View[], present: View): View | null {
    this.#gesture = null;
    const v = from.pop();
    if (v === undefined) return null;
    to.push(present);
    return v;
  }
}
