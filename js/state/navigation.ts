/** Where a timeline looks: moves the view in time and the lanes up and down, so that something is seen. */

import { GROUP_HEIGHT, laneKey } from "../model/lanes/layout";
import { entryOfEvent } from "../model/lod/merged";
import { fit, pan, type Viewport, zoomAt } from "../model/viewport";
import type { LeftView, Store } from "./store";

/** Room above a lane that is scrolled to, for the headers of its task and its device (CSS px). */
const HEADROOM = 2 * GROUP_HEIGHT;
/** Narrower bars are hard to see among others (CSS px). */
const VISIBLE_PX = 3;
/** If there are more lanes, only the first are brought together. */
const MOST_GATHERED = 4;

export class Navigation {
  readonly motion: Motion;

  constructor(readonly store: Store) {
    this.motion = new Motion(store);
  }

  zoom(factor: number): void {
    const { viewport, bounds } = this.store;
    const at = this.store.cursor ?? (viewport.start + viewport.end) / 2;
    this.motion.glide(zoomAt(viewport, factor, at, bounds), "zoom");
  }

  /** Show the whole step, or the whole run if a chosen step is shown as a whole already. */
  whole(): void {
    const { store } = this;
    const { start, end } = fit(store.bounds, store.bounds, 0.01);
    const { viewport } = store;
    if (store.step !== null && viewport.start === start && viewport.end === end) store.setStep(null);
    else this.motion.glide({ start, end }, "whole");
  }

  show(range: Viewport, margin = 0.12): void {
    this.motion.glide(fit(range, this.store.bounds, margin), "show");
  }

  /** Fit the selection, or everything when nothing is selected or it already fills the view. */
  fitSelection(): void {
    const span = this.selectedSpan();
    if (!span) {
      this.whole();
      return;
    }
    const { selected, range } = this.store;
    if (selected !== null) this.keepInSight(selected);
    else if (range?.lanes?.length) this.keepLanesInSight(range.lanes);
    const target = fit(span, this.store.bounds, 0.12);
    const { viewport } = this.store;
    const same = Math.abs(target.start - viewport.start) + Math.abs(target.end - viewport.end);
    if (same < 0.01 * (viewport.end - viewport.start)) this.whole();
    else this.motion.glide(target, "fit");
  }

  back(): void {
    this.#return(this.store.history.back(this.store.present));
  }

  forward(): void {
    this.#return(this.store.history.forward(this.store.present));
  }

  #return(view: LeftView | null): void {
    if (!view) return;
    const { store } = this;
    const { start, end, step, isAligned } = view;
    if (step === store.step && isAligned === store.present.isAligned) this.motion.glide({ start, end }, null);
    else {
      store.chooseStep(step, isAligned);
      store.setViewport({ start, end });
    }
  }

  /** Select one event and bring it into view, without moving more than needed; see `revealSelection`. */
  visit(id: number, keepsZoom = false): void {
    this.store.select({ events: [id] });
    this.revealSelection(keepsZoom);
  }

  /** The same by event id, including an event that is not in the browser: it comes into view once it is. */
  visitEvent(event: number): void {
    const { store } = this;
    store.setPanel({ panelOpen: true });
    store.selectInRun({ events: [event] });
    if (entryOfEvent(store.drawn, event) !== null) this.revealSelection();
  }

  /**
   * Brings the selection into view: its step, its lane, its time. Several events are shown as a whole. A single
   * event gets a scale at which it is easy to see, unless `keepsZoom`.
   */
  revealSelection(keepsZoom = false): void {
    const { store } = this;
    const { selected, selection, range } = store;
    const isShown = selected !== null && store.placement.isShown(selected);
    const named = store.drawn.steps.findIndex((each) => each.step === range?.step);
    const step = selected !== null ? store.drawn.step?.[selected] : named;
    if (store.step !== null && !isShown && step !== undefined && step >= 0 && step !== store.step)
      store.showStep(step);
    // Aligned steps leave out events outside steps.
    if (store.aligned && selected !== null && !isShown) store.showStep(null);
    if (selected !== null) this.uncover(selected);
    const isSingle = selection !== null && "events" in selection && selection.events.length === 1;
    if (selected !== null && isSingle && !keepsZoom) {
      this.reveal(selected);
      return;
    }
    if (selected !== null) this.keepInSight(selected);
    const span = this.selectedSpan();
    if (!span || this.#isSeen(span, selected !== null && !isSingle)) return;
    if (isSingle) this.#center(span);
    else this.show(span);
  }

  /** Whether a span is in the picture: as a whole and wide enough to see its events, or any part of it. */
  #isSeen({ start, end }: Viewport, isWhole: boolean): boolean {
    const { viewport, width } = this.store;
    if (!isWhole) return start < viewport.end && end > viewport.start;
    const isWide = (end - start) * width >= VISIBLE_PX * (viewport.end - viewport.start);
    return isWide && start >= viewport.start && end <= viewport.end;
  }

  /** Moves a time to the middle of the view. */
  #center({ start, end }: Viewport): void {
    const { viewport } = this.store;
    const span = viewport.end - viewport.start;
    this.show({ start: (start + end - span) / 2, end: (start + end + span) / 2 }, 0);
  }

  /** Show the lane of an event even when it was hidden, filtered out or in a collapsed group. */
  uncover(id: number): void {
    this.#uncoverLane(this.store.drawn.lane[id]);
  }

  #uncoverLane(lane: number): void {
    const { store } = this;
    if (store.placement.lane(lane)) return;
    const groups = store.arrangement.items.filter(
      (item) => item.type === "group" && item.collapsed && item.lanes.includes(lane),
    );
    store.lanes.uncover(
      groups.map((group) => group.key),
      false,
    );
    if (store.placement.lane(lane)) return;
    store.lanes.uncover([], true);
    store.setOption("lane_filter", "");
  }

  /** Whether an event's row is in view. */
  isInSight(id: number): boolean {
    const { placement, scroll, height } = this.store;
    const top = placement.top(id);
    return top !== null && top >= scroll + 24 && top + placement.height(id) <= scroll + height - 8;
  }

  /** Scroll the lanes until an event's row is in view. */
  keepInSight(id: number): void {
    const { store } = this;
    const top = store.placement.top(id);
    // A hidden output has no height.
    if (top !== null && !this.isInSight(id)) store.scrollTo(top - Math.max(store.height / 2, HEADROOM));
  }

  /** The same for all selected events: lanes that lie too far apart are pinned to the top because they belong
   * together. */
  keepSelectedInSight(): void {
    const { store } = this;
    const { selection } = store;
    if (!selection || !("events" in selection) || selection.events.length === 0) return;
    const lanes = [...new Set(selection.events.map((id) => store.drawn.lane[id]))].slice(0, MOST_GATHERED);
    store.lanes.gather([]);
    for (const lane of lanes) this.#uncoverLane(lane);
    if (lanes.length === 1) {
      this.keepInSight(selection.events[0]);
      return;
    }
    const tops = new Set(selection.events.map((id) => store.placement.top(id)).filter((top) => top !== null));
    const [highest, lowest] = [
      Math.min(...tops),
      Math.max(...tops) + store.placement.height(selection.events[0]),
    ];
    if (lowest - highest > store.height - HEADROOM) {
      store.lanes.gather(lanes.map((lane) => laneKey(store.drawn.lanes[lane])));
      store.scrollTo(0);
    } else if (highest < store.scroll + GROUP_HEIGHT || lowest > store.scroll + store.height)
      store.scrollTo(highest - HEADROOM);
  }

  /**
   * Scroll until the first of some lanes is in view, with the headers above it; show it if none of them is
   * shown.
   */
  keepLanesInSight(lanes: readonly number[]): void {
    const { store } = this;
    if (!lanes.some((lane) => store.placement.lane(lane))) this.#uncoverLane(lanes[0]);
    const items = lanes.map((lane) => store.placement.lane(lane)).filter((item) => item !== undefined);
    if (items.length === 0) return;
    const first = items.reduce((one, other) => (other.y < one.y ? other : one));
    const bottom = first.y + Math.min(first.height, store.height - HEADROOM);
    if (first.y < store.scroll + GROUP_HEIGHT || bottom > store.scroll + store.height)
      store.scrollTo(first.y - HEADROOM);
  }

  reveal(id: number): void {
    const { store } = this;
    this.keepInSight(id);
    const start = store.drawn.start[id];
    const end = store.end(id);
    const { viewport } = store;
    const span = viewport.end - viewport.start;
    const visible = end > viewport.start && start < viewport.end;
    const wide = (end - start) * store.width >= VISIBLE_PX * span;
    if (visible && wide && start >= viewport.start - span * 0.5) return;
    if (end - start > span || !wide) {
      // Too short to see or larger than the view: choose a scale at which it is a fair part of the width.
      const around = Math.max((end - start) * 8, 200);
      this.show({ start: (start + end) / 2 - around / 2, end: (start + end) / 2 + around / 2 }, 0);
    } else this.#center({ start, end });
  }

  /** From the first start to the last end of the selection; null without one. */
  protected selectedSpan(): Viewport | null {
    const { store } = this;
    const { range, selection } = store;
    if (range) return { start: range.start, end: range.end };
    if (!selection || !("events" in selection) || selection.events.length === 0) return null;
    // All events of a line may be more than a call can be given.
    let start = Number.POSITIVE_INFINITY;
    let end = 0;
    for (const id of selection.events) {
      start = Math.min(start, store.drawn.start[id]);
      end = Math.max(end, store.end(id));
    }
    return { start, end: Math.max(end, start + 1) };
  }
}

const GLIDE_MS = 160;
/** Held keys: zoom by this factor and pan by this part of the window in a second, before acceleration. */
const ZOOM_PER_SECOND = 5;
const PAN_PER_SECOND = 1.1;
const SHIFT_SPEED_FACTOR = 3;
/** A tap moves as far as this long a hold. */
const TAP_MS = 90;
/** Moves by keys that come closer together are one in the history. */
const PAUSE_MS = 1200;

class Motion {
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
