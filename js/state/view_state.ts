/** The open panes, the selection, the hovered item, clicks that are not on events, measured intervals, and messages. */

import type { Host } from "../host/host";
import type { Annotation } from "../model/annotations";
import type { AlignedSteps } from "../model/lanes/aligned_steps";
import { shownWith } from "../model/lanes/shown_with";
import { byEntry, byEventId, entryOfEvent } from "../model/lod/merged";
import type { By } from "../model/search/range_statistics";
import { type Drawn, NO_STEP, type Selection } from "../model/types";
import type { Place } from "../model/wire/code";
import type { Moment, Track } from "../model/wire/memory";
import type { OwnBar } from "../model/wire/own_tracks";
import type { Notice } from "./kernel_queries";

/** Changes that listeners can ask for. */
export type Topic =
  | "viewport"
  | "layout"
  | "selection"
  | "annotations"
  | "hover"
  | "search"
  | "paint"
  | "details"
  | "panel"
  | "notice";

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

/** The base of the store: state that needs no layout of the lanes. */
export class ViewState {
  readonly #listeners = new Map<Topic, Set<() => void>>();
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
  /** Set while the steps are shown under each other, each from its own start. */
  aligned: AlignedSteps | null = null;
  #run: Drawn;
  /** The last selection that was asked for, and how many events it was taken from. */
  #part: { selection: Selection | null; of: number } = { selection: null, of: 0 };

  constructor(
    run: Drawn,
    readonly host: Host,
    readonly signal: AbortSignal,
  ) {
    this.#run = run;
    if (HAS_KERNEL) host.watch("selection", () => this.emit("selection"), signal);
  }

  /** Call `listener` after a change to any of `topics`, until `signal` aborts. */
  on(topics: readonly Topic[], listener: () => void, signal: AbortSignal = this.signal): void {
    for (const topic of topics) {
      const listeners = this.#listeners.get(topic) ?? new Set();
      this.#listeners.set(topic, listeners.add(listener));
      signal.addEventListener("abort", () => listeners.delete(listener), { once: true });
    }
  }

  emit(topic: Topic): void {
    for (const listener of this.#listeners.get(topic) ?? []) listener();
  }

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

  /** The drawn data: the run, or its steps aligned. */
  get drawn(): Drawn {
    return this.aligned?.drawn ?? this.#run;
  }

  /** The run as recorded. */
  get run(): Drawn {
    return this.#run;
  }

  protected set run(run: Drawn) {
    this.#run = run;
  }

  end(id: number): number {
    return (this.drawn.start[id] ?? 0) + (this.drawn.duration[id] ?? 0);
  }

  /** The selection, events by their indexes in `drawn`; those not in it are left out. */
  get selection(): Selection | null {
    const selection = this.host.get("selection");
    return byEntry(this.drawn, this.aligned ? this.aligned.fromRun(selection) : selection);
  }

  /** How many events the selected ones were taken from; 0 if they are all. */
  get selectedOf(): number {
    return this.#part.selection === this.host.get("selection") ? this.#part.of : 0;
  }

  /** The one selected event, or null. */
  get selected(): number | null {
    const selection = this.selection;
    return selection && "events" in selection ? (selection.events[0] ?? null) : null;
  }

  /** The selected range of time, or null. */
  get range(): Extract<Selection, { start: number }> | null {
    const selection = this.selection;
    return selection && "start" in selection ? selection : null;
  }

  select(selection: Selection | null): void {
    this.moment = null;
    const inRun = this.aligned ? this.aligned.toRun(selection) : selection;
    this.host.set("selection", byEventId(this.drawn, inRun));
    if (selection && !this.panelOpen) this.setPanel({ panelOpen: true });
    this.emit("selection");
  }

  /** Show what lay in an allocator's memory at a time. */
  showMemory(moment: Moment): void {
    this.select(null);
    this.moment = moment;
    this.setPanel({ panelOpen: true });
  }

  /**
   * Select in the run's own terms: events by id, also such as are not in the browser yet. They may be a part of `of`
   * events.
   */
  selectInRun(selection: Selection | null, of = 0): void {
    this.#part = { selection, of };
    this.host.set("selection", selection);
    this.emit("selection");
  }
}

/**
 * Whether all that is selected (events by id) lies in a step (its index in the list), or with null in any step. A part
 * of it would be shown next to figures of all.
 */
export function liesIn(run: Drawn, selection: Selection, step: number | null): boolean {
  if ("events" in selection) {
    const isShown = shownWith(run, step);
    return selection.events.every((event) => {
      const entry = entryOfEvent(run, event);
      if (entry === null) return false;
      return step === null ? run.steps[run.step?.[entry] ?? 0].step !== NO_STEP : isShown(entry);
    });
  }
  if (step === null) return true;
  const { step: number, start, end } = run.steps[step];
  if (selection.step !== null) return selection.step === number;
  return start <= selection.start && selection.end <= end;
}
