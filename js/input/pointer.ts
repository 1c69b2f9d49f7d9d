/** The pointer over the lanes: hover, click, double click, and the three drags. */

import { barTop } from "../model/lanes/tracks";
import { hitRow } from "../model/paint/raster";
import { NO_STEP, type Row, type Selection } from "../model/types";
import { pan, timeAt, type Viewport } from "../model/viewport";
import type { OwnBars } from "../model/wire/own_tracks";
import type { Step } from "../model/wire/schema";
import { rangeOf, selectBar } from "../state/own_tracks";
import type { Store } from "../state/store";
import { endOf, type Tensor } from "../state/tensors";
import type { Actions } from "./actions";

/** A drag starts after this many pixels; below that it is a click. */
const CLICK_SLOP_PX = 4;
/** Edges of a range stick to the edges of events within this distance. */
const SNAP_PX = 6;

const isMac = /mac/i.test(navigator.platform);

interface Drag {
  mode: "select" | "pan" | "zoom";
  x: number;
  y: number;
  view: Viewport;
  moved: boolean;
}

export class Pointer {
  #drag: Drag | null = null;
  /** Where the pointer is (CSS px from the left of the lanes); null while it is elsewhere. */
  #x: number | null = null;
  #gesture = 0;
  /** How many clicks followed each other at one place, and the time of the bar that was there before the first. */
  #clicks = 0;
  #target: Viewport | null = null;

  constructor(
    readonly element: HTMLElement,
    readonly store: Store,
    readonly actions: Actions,
  ) {
    const { signal } = store;
    element.addEventListener("pointerdown", (event) => this.#down(event), { signal });
    element.addEventListener("pointermove", (event) => this.#move(event), { signal });
    element.addEventListener("pointerup", (event) => this.#up(event), { signal });
    element.addEventListener("pointercancel", () => this.#cancel(), { signal });
    element.addEventListener("pointerleave", () => this.#leave(), { signal });
    // Under a pointer at rest is something else now.
    store.on(["viewport"], () => {
      if (this.#x !== null && !this.#drag) store.setHover(null, timeAt(store.viewport, this.#x, store.width));
    });
    element.addEventListener("mousedown", (event) => this.#count(event), { signal });
    const zoom = () => (this.#target ? actions.show(this.#target) : actions.whole());
    element.addEventListener("dblclick", zoom, { signal });
  }

  #place(event: MouseEvent): { x: number; y: number } {
    const box = this.element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  /** The event at a position in the lanes (CSS px from their left and top); null without one. */
  eventAt(x: number, y: number): number | null {
    return this.#hit(x, y)?.id ?? null;
  }

  /** The event under a position in the lanes, and how many share its pixel. */
  #hit(x: number, y: number): { id: number; count: number } | null {
    const { store } = this;
    const at = store.itemAt(y);
    if (at?.item.type !== "lane") return null;
    const row = at.item.rows[at.row];
    return row ? hitIn(store, row, x) : null;
  }

  #down(event: PointerEvent): void {
    // On a Mac, Ctrl and a click open the menu.
    if (event.button > 1 || (event.button === 0 && event.ctrlKey && isMac)) return;
    this.element.focus({ preventScroll: true });
    // Of a text that stayed selected, Ctrl C would copy that.
    getSelection()?.removeAllRanges();
    const { x, y } = this.#place(event);
    const mode = event.shiftKey || event.button === 1 ? "pan" : event.altKey ? "zoom" : "select";
    this.#drag = { mode, x, y, view: this.store.viewport, moved: false };
    this.#gesture++;
    this.element.setPointerCapture(event.pointerId);
    if (event.button === 1) event.preventDefault();
  }

  #move(event: PointerEvent): void {
    const { store } = this;
    const { x, y } = this.#place(event);
    this.#x = x;
    const drag = this.#drag;
    store.pointed = store.itemAt(y)?.item.key ?? null;
    if (!drag) {
      const hit = this.#hit(x, y);
      const tensor = hit ? null : tensorAt(store, x, y);
      const cursor = timeAt(store.viewport, x, store.width);
      const bar = barAt(store, x, y);
      store.setHover(hit && { ...hit, x, y }, cursor, tensor && { ...tensor, x, y }, bar && { ...bar, x, y });
      return;
    }
    drag.moved ||= Math.hypot(x - drag.x, y - drag.y) > CLICK_SLOP_PX;
    if (!drag.moved) return;
    if (drag.mode === "pan") {
      this.element.classList.add("panning");
      const delta = ((drag.x - x) / store.width) * (drag.view.end - drag.view.start);
      store.setViewport(pan(drag.view, delta, store.bounds), `pan ${this.#gesture}`);
      store.scrollTo(store.scroll - event.movementY);
    } else {
      store.isDragged = true;
      store.select(this.#range(drag, x, y, event.altKey && drag.mode === "select"));
    }
    store.setHover(null, timeAt(store.viewport, x, store.width));
  }

  #leave(): void {
    if (this.#drag) return;
    this.#x = null;
    this.store.pointed = null;
    this.store.setHover(null, null);
  }

  /** The dragged time range over the lanes it crosses; over all lanes if the drag starts outside them. */
  #range(drag: Drag, x: number, y: number, free: boolean) {
    const { store } = this;
    const from = Math.max(Math.min(drag.y, y), store.covered) + store.scroll;
    const to = Math.max(drag.y, y) + store.scroll;
    const lanes = store.arrangement.items
      .filter((item) => item.y < to && item.y + item.height > from)
      .flatMap((item) =>
        item.type === "lane" ? [item.lane] : item.type === "group" && item.collapsed ? item.lanes : [],
      );
    const edges = [drag.x, x]
      .map((edge, index) =>
        free ? timeAt(store.viewport, edge, store.width) : this.#snap(edge, index ? y : drag.y),
      )
      .sort((a, b) => a - b);
    return {
      start: edges[0],
      end: edges[1],
      lanes: lanes.length ? [...new Set(lanes)] : null,
      step: store.stepNumber,
    };
  }

  #snap(x: number, y: number): number {
    const { store } = this;
    const time = timeAt(store.viewport, x, store.width);
    const reach = (SNAP_PX * (store.viewport.end - store.viewport.start)) / store.width;
    const hits = [this.#hit(x, y), this.#hit(x - SNAP_PX, y), this.#hit(x + SNAP_PX, y)];
    const edges = hits.flatMap((hit) => (hit ? [store.drawn.start[hit.id], store.end(hit.id)] : []));
    const near = edges.filter((edge) => Math.abs(edge - time) <= reach);
    return near.length ? near.reduce((a, b) => (Math.abs(a - time) <= Math.abs(b - time) ? a : b)) : time;
  }

  #up(event: PointerEvent): void {
    const drag = this.#drag;
    const { store } = this;
    this.#cancel();
    if (!drag) return;
    const { x, y } = this.#place(event);
    if (drag.moved) {
      const { range } = store;
      if (drag.mode === "zoom" && range) {
        store.select(null);
        this.actions.show(range, 0);
      }
      return;
    }
    if ((drag.mode === "pan" && event.button === 1) || this.#clicks > 1) return;
    const hit = this.#hit(x, y);
    if (!hit) {
      const item = store.itemAt(y)?.item;
      const tensor = tensorAt(store, x, y);
      if (tensor && selectMaker(store, tensor)) return;
      const bar = barAt(store, x, y);
      if (bar) {
        selectBar(store, bar.track, bar.at);
        return;
      }
      if (item?.type === "memory" || item?.type === "tensors")
        store.showMemory({ track: item.track, time: timeAt(store.viewport, x, store.width) });
      else store.select(this.#idle(x, y));
      return;
    }
    const selection = store.selection;
    const several = (event.ctrlKey || event.metaKey) && selection !== null && "events" in selection;
    if (!several) {
      store.select({ events: [hit.id] });
      return;
    }
    const others = selection.events.filter((id) => id !== hit.id);
    store.select({ events: others.length < selection.events.length ? others : [hit.id, ...others] });
  }

  /** The idle gap of a device, or between steps, at a position in the lanes; null without one, or if it is
   * selected already. */
  #idle(x: number, y: number): Selection | null {
    const { store } = this;
    const at = store.itemAt(y);
    if (at?.item.type !== "lane" || store.aligned) return null;
    const { lane } = at.item;
    const time = timeAt(store.viewport, x, store.width);
    const idle = store.details?.waiting?.stretch(store.drawn.lanes[lane], time);
    const gap = idle ?? pauseAt(store.drawn.steps, time);
    if (!gap || (store.range?.start === gap.start && store.range.end === gap.end)) return null;
    return { ...gap, lanes: idle ? [lane] : null, step: store.stepNumber };
  }

  #cancel(): void {
    this.#drag = null;
    if (this.store.isDragged) this.store.setPanel({ isDragged: false });
    this.element.classList.remove("panning");
  }

  /** The first click of a double click may open the details, and then other bars are under the second one. */
  #count(event: MouseEvent): void {
    this.#clicks = event.detail;
    if (event.detail === 1) this.#target = this.#rangeAt(this.#place(event));
  }

  /** The time of the bar at a position; null without one. */
  #rangeAt({ x, y }: { x: number; y: number }): Viewport | null {
    const { store } = this;
    const bar = barAt(store, x, y);
    if (bar) return rangeOf(bar.track, bar.at);
    const tensor = tensorAt(store, x, y);
    if (tensor) return { start: tensor.track.starts[tensor.at], end: endOf(tensor) };
    const hit = this.#hit(x, y);
    if (!hit) return null;
    const start = store.drawn.start[hit.id];
    return { start, end: Math.max(store.end(hit.id), start + 10) };
  }
}

/** The time between two steps; null in a step, before all and after all. */
function pauseAt(all: readonly Step[], time: number): Viewport | null {
  const steps = all.filter(({ step }) => step !== NO_STEP);
  const next = steps.findIndex(({ end }) => end > time);
  if (next < 1 || steps[next].start <= time) return null;
  return { start: steps[next - 1].end, end: steps[next].start };
}

/** The buffer at a position in the lanes (CSS px), and how many share its pixel; null without one. */
function tensorAt(store: Store, x: number, y: number): (Tensor & { count: number }) | null {
  const item = store.itemAt(y)?.item;
  if (item?.type !== "tensors") return null;
  const inside = y + store.scroll - item.y;
  const under = item.tensors.rows.find(({ top, height }) => top <= inside && inside < top + height);
  const hit = under && hitIn(store, under.row, x);
  return hit ? { track: item.track, at: hit.id, count: hit.count } : null;
}

/** The same of a bar of an own track. */
function barAt(store: Store, x: number, y: number): { track: OwnBars; at: number; count: number } | null {
  const item = store.itemAt(y)?.item;
  if (item?.type !== "bars") return null;
  const inside = y + store.scroll - item.y;
  const under = item.rows.findLast((_, row) => barTop(row) <= inside);
  const hit = under && hitIn(store, under, x);
  return hit ? { track: item.track, at: hit.id, count: hit.count } : null;
}

function hitIn(store: Store, row: Row, x: number): { id: number; count: number } | null {
  const nsPerPixel = (store.viewport.end - store.viewport.start) / store.width;
  return hitRow(row, store.derived.levels(row), timeAt(store.viewport, x, store.width), nsPerPixel, 3);
}

/** Select the op that allocated a buffer; false if it is not in the trace. */
function selectMaker(store: Store, { track, at }: Tensor): boolean {
  if (!track.events[at]) return false;
  store.select(null);
  store.setPanel({ panelOpen: true });
  store.selectInRun({ events: [track.events[at] - 1] });
  return true;
}
