/** Movement over time: held keys, and the short glide to a new part of the axis. */

import { pan, type Viewport, zoomAt } from "../model/viewport";
import type { Store } from "./store";

const GLIDE_MS = 160;
/** Held keys: zoom by this factor and pan by this part of the window in a second, before acceleration. */
const ZOOM_PER_SECOND = 5;
const PAN_PER_SECOND = 1.1;
const SHIFT_SPEED_FACTOR = 3;
/** A tap moves as far as this long a hold. */
const TAP_MS = 90;
/** Moves by keys that come closer together are one in the history. */
const PAUSE_MS = 1200;

export class Motion {
  #held = new Map<string, { began: number; zoom: number; pan: number }>();
  #shift = false;
  #frame = 0;
  #last = 0;
  #gesture = 0;
  /** When keys or notches last moved the view. */
  #moved = Number.NEGATIVE_INFINITY;

  constructor(readonly store: Store) {
    store.signal.addEventListener("abort", () => cancelAnimationFrame(this.#frame));
  }

  /** Start moving while `code` is held: zoom +1 in, -1 out; pan -1 left, +1 right. */
  hold(code: string, zoom: number, move: number, shift: boolean): void {
    this.#shift = shift;
    if (this.#held.has(code)) return;
    if (this.#held.size === 0) {
      this.#last = performance.now();
      cancelAnimationFrame(this.#frame);
      this.#frame = requestAnimationFrame((now) => this.#tick(now));
    }
    this.#held.set(code, { began: performance.now(), zoom, pan: move });
    this.#advance(zoom, move, TAP_MS / 1000);
  }

  release(code: string | null): void {
    if (code === null) this.#held.clear();
    else this.#held.delete(code);
  }

  #tick(now: number): void {
    if (this.#held.size === 0) return;
    const seconds = Math.min((now - this.#last) / 1000, 0.05);
    this.#last = now;
    for (const key of this.#held.values()) {
      const held = now - key.began;
      if (held > TAP_MS) this.#advance(key.zoom, key.pan, seconds * Math.min(1 + held / 900, 3));
    }
    this.#frame = requestAnimationFrame((next) => this.#tick(next));
  }

  #advance(zoom: number, move: number, seconds: number): void {
    const { store } = this;
    const rate = seconds * (this.#shift ? SHIFT_SPEED_FACTOR : 1);
    const { viewport, bounds } = store;
    const at = store.cursor ?? (viewport.start + viewport.end) / 2;
    const next = zoom
      ? zoomAt(viewport, ZOOM_PER_SECOND ** (zoom * rate), at, bounds)
      : pan(viewport, move * rate * PAN_PER_SECOND * (viewport.end - viewport.start), bounds);
    store.setViewport(next, this.#move());
  }

  /** The name of the present move: taps and notches that follow each other soon are one, and one step back. */
  #move(): string {
    const now = performance.now();
    if (now - this.#moved > PAUSE_MS) this.#gesture++;
    this.#moved = now;
    return `move ${this.#gesture}`;
  }

  /** Move to `target` in a short glide, or at once where the user asked the system for less motion. */
  glide(target: Viewport, gesture: string | null): void {
    const { store } = this;
    cancelAnimationFrame(this.#frame);
    const from = store.viewport;
    const isNotch = gesture === "zoom";
    if (!isNotch) this.#moved = Number.NEGATIVE_INFINITY;
    const gestureName = gesture === null ? null : isNotch ? this.#move() : `${gesture} ${++this.#gesture}`;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      store.setViewport(target, gestureName);
      return;
    }
    if (gestureName !== null) store.setViewport(from, gestureName);
    const began = performance.now();
    let last = store.viewport;
    const tick = (now: number) => {
      // Something else has moved the view since.
      if (store.viewport !== last) return;
      const part = Math.min(Math.max((now - began) / GLIDE_MS, 0), 1);
      const eased = 1 - (1 - part) ** 3;
      const start = from.start + (target.start - from.start) * eased;
      const end = from.end + (target.end - from.end) * eased;
      store.setViewport(part < 1 ? { start, end } : target);
      last = store.viewport;
      if (part < 1) this.#frame = requestAnimationFrame(tick);
    };
    this.#frame = requestAnimationFrame(tick);
  }
}
