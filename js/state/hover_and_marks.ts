/** The hovered item, clicks that are not on events, and measured intervals. */

import type { Moment, Track } from "../model/wire/memory";
import type { OwnBar } from "../model/wire/own_tracks";
import type { Notice } from "./kernel_queries";
import { Topics } from "./topics";

class StatusMessages extends Topics {
  /** What went wrong last. */
  failure: string | null = null;
  /** The current activity. */
  notice: Notice | null = null;

  fail(message: string | null): void {
    this.failure = message;
    this.emit("panel");
  }

  setNotice(notice: Notice | null): void {
    this.notice = notice;
    this.emit("notice");
  }
}

export interface Hover {
  id: number;
  /** Events that share the pixel under the pointer. */
  count: number;
  /** CSS pixels from the left and top edge of the lanes, or of the graph below them. */
  x: number;
  y: number;
  isInGraph?: true;
}

/** A buffer of memory under the pointer. */
export interface TensorHover extends Omit<Hover, "id"> {
  track: Track;
  /** Its place in the track. */
  at: number;
}

/** A bar of an own track under the pointer. */
export type BarHover = Omit<Hover, "id"> & OwnBar;

/** A measured interval; a kept one stays when the next is made. */
export interface Mark {
  start: number;
  end: number;
  kept: boolean;
}

export class HoverAndMarks extends StatusMessages {
  hover: Hover | null = null;
  tensor: TensorHover | null = null;
  bar: BarHover | null = null;
  /** The bar of an own track that was selected last. */
  ownBar: OwnBar | null = null;
  /** The time under the pointer, or null when it is elsewhere. */
  cursor: number | null = null;
  /** Whether the time under the pointer is shown as date and time of day. */
  isWallClock = false;
  /** The key of the lane or group under the pointer, or null when it is elsewhere. */
  pointed: string | null = null;
  /** Where an allocator's memory was last inspected, unless something else was selected since. */
  moment: Moment | null = null;
  marks: readonly Mark[] = [];

  setHover(
    hover: Hover | null,
    cursor: number | null = this.cursor,
    tensor: TensorHover | null = null,
    bar: BarHover | null = null,
  ): void {
    const { hover: before, tensor: under, bar: own } = this;
    if (![hover, before, tensor, under, bar, own].some(Boolean) && cursor === this.cursor) return;
    this.hover = hover;
    this.tensor = tensor;
    this.bar = bar;
    this.cursor = cursor;
    this.emit("hover");
  }

  setWallClock(isShown: boolean): void {
    this.isWallClock = isShown;
    // The label of the axis changes as well.
    this.emit("viewport");
  }

  /** Replace the measured intervals. */
  setMarks(marks: readonly Mark[]): void {
    this.marks = marks;
    this.emit("selection");
  }
}
