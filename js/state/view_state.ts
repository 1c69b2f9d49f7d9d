/** The panes that are open, the hovered item, clicks that are not on events, measured intervals, and messages. */

import type { Annotation } from "../model/annotations";
import type { By } from "../model/search/range_statistics";
import type { Place } from "../model/wire/code";
import type { Moment, Track } from "../model/wire/memory";
import type { OwnBar } from "../model/wire/own_tracks";
import type { Notice } from "./kernel_queries";
import { Topics } from "./topics";

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

/** A menu at a position in the window: for an event, or for the lane or group with a key alone. */
interface Menu {
  x: number;
  y: number;
  event: number | null;
  key: string;
}

interface Panels {
  panelOpen: boolean;
  helpOpen: boolean;
  statisticsBy: By;
  tableOpen: boolean;
  isDragged: boolean;
  flowsOpen: boolean;
  menu: Menu | null;
  isAskedForAnnotations: boolean;
  graphOpen: boolean;
  graphHops: number;
  graphFit: boolean;
  codeOpen: boolean;
  codePlace: Place | null;
  draft: Annotation | null;
}

export class ViewState extends Topics {
  /** What went wrong last. */
  failure: string | null = null;
  /** The current activity. */
  notice: Notice | null = null;
  panelOpen = true;
  helpOpen = false;
  /** The grouping of the table of a selected range, and whether the table is shown. */
  statisticsBy: By = "op";
  tableOpen = true;
  /** Whether a range is being dragged: a table that opens would move the lanes away. */
  isDragged = false;
  /** Whether all selected events have arrows, those of a range as well. */
  flowsOpen = false;
  menu: Menu | null = null;
  /** Whether the graph around the selected event is shown, how many hops each way, and small enough for its pane. */
  graphOpen = false;
  graphHops = 2;
  graphFit = false;
  /** Whether the code is shown, and its current line. */
  codeOpen = false;
  codePlace: Place | null = null;
  /** The annotation that is being edited. */
  draft: Annotation | null = null;
  /** Whether the list of annotations is to come into view, until it does. */
  isAskedForAnnotations = false;
  /** Why there are no details; null while they may come. */
  detailsError: string | null = null;
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

  fail(message: string | null): void {
    this.failure = message;
    this.emit("panel");
  }

  setNotice(notice: Notice | null): void {
    this.notice = notice;
    this.emit("notice");
  }

  setPanel(open: Partial<Panels>): void {
    Object.assign(this, open);
    this.emit("panel");
  }

  failDetails(message: string): void {
    this.detailsError = message;
    this.emit("details");
  }
}
