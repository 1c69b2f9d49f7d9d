/** The state of one view. Panels, canvases and input read it; only its methods change it. */

import type { Host, Options } from "../host/host";
import type { Annotation } from "../model/annotations";
import { AlignedSteps } from "../model/lanes/aligned_steps";
import { kindOf } from "../model/lanes/event_text";
import {
  type Arrangement,
  arrange,
  GROUP_HEIGHT,
  type Item,
  itemAt,
  laneKey,
  type StickyGroup,
  stickyGroup,
} from "../model/lanes/layout";
import { Placement, rowNumbers } from "../model/lanes/placement";
import { isSparse } from "../model/lanes/step_bars";
import { tensorRows } from "../model/lanes/tensor_rows";
import type { SameName } from "../model/lod/exact_events";
import { beginsFolded, busyTime, foldRows } from "../model/lod/folded";
import { RowLevels } from "../model/lod/levels";
import { mergedRows } from "../model/lod/merged";
import { packLanes } from "../model/lod/rows";
import { type ColorBy, colourTable, type Paints, paints, type Theme } from "../model/paint/palette";
import { type Matches, NameIndex, search } from "../model/search/search";
import type { Drawn, Lane, Row } from "../model/types";
import { clampViewport, fit, History, type Viewport } from "../model/viewport";
import type { Code } from "../model/wire/code";
import type { CounterTrack } from "../model/wire/counters";
import type { DetailsView } from "../model/wire/details";
import type { Track } from "../model/wire/memory";
import { foldedBars, ownTracks } from "../model/wire/own_tracks";
import type { KernelQueries } from "./kernel_queries";
import { LaneChoices } from "./lane_choices";
import { ManyLanes } from "./many_lanes";
import { liesIn, ViewState } from "./view_state";

/** A part of the axis, and the steps that it was the axis of. */
export interface LeftView extends Viewport {
  step: number | null;
  isAligned: boolean;
}

/** More aligned steps than these begin folded. */
const FEW_STEPS = 4;

export class Store extends ViewState {
  /** Its index in the list of steps; null for all of them. */
  step: number | null = null;
  details: DetailsView | null = null;
  /** The user's code once loaded; null if none was recorded. */
  code: Code | null = null;
  /** The memory of each allocator, once it is known; in the run's times. */
  tracks: readonly Track[] = [];
  /** The counters, once they are known; in the run's times. */
  counters: readonly CounterTrack[] = [];
  /** Answers queries about parts of the trace that the browser does not hold. */
  remote: KernelQueries | null = null;
  viewport: Viewport = { start: 0, end: 1 };
  arrangement: Arrangement = { items: [], height: 0 };
  /** Where in the arrangement an event is. */
  placement!: Placement;
  /** Counts the arrangements made. */
  revision = 0;
  matches: Matches | null = null;
  searchText = "";
  #theme: Theme = "light";
  #ground = "#ffffff";
  /** Which events are not dimmed; null if all. */
  #mask: Uint8Array | null = null;
  #painting: Painting | null = null;
  scroll = 0;
  /** Size of the lanes' picture in CSS pixels. */
  width = 0;
  height = 0;
  readonly lanes = new LaneChoices(() => this.rearrange());
  readonly history = new History<LeftView>();
  /** Whether the history has the view before the present action. */
  #isRemembered = false;
  readonly #many: ManyLanes;
  derived!: DerivedRows;

  constructor(drawn: Drawn, host: Host, signal: AbortSignal) {
    super(drawn, host, signal);
    this.#many = new ManyLanes(host, this.lanes);
    this.showStep(isSparse(drawn) ? 0 : null);
    if (drawn.opens && host.pair?.side === undefined)
      this.viewport = fit({ start: drawn.opens[0], end: drawn.opens[1] }, this.bounds, 0.05);
    // Nobody else changes the options of a page.
    if (!HAS_KERNEL) return;
    host.watch("group_by", () => this.rearrange(), signal);
    host.watch("lane_filter", () => this.#filter(), signal);
    host.watch("annotations", () => this.emit("annotations"), signal);
    host.watch("tracks", () => this.rearrange(), signal);
    host.watch("color_by", () => this.repaint(), signal);
  }

  /** The times the present step or the whole run spans. */
  get whole(): Viewport {
    const step = this.step === null ? null : this.drawn.steps[this.step];
    const range = step ? { start: step.start, end: step.end } : { start: 0, end: this.drawn.span };
    return range.end > range.start ? range : { start: range.start, end: range.start + 1 };
  }

  /** The times that can be viewed; the shorter of two timelines has all that the longer one has. */
  get bounds(): Viewport {
    const { start, end } = this.whole;
    const isRun = this.step === null && !this.aligned;
    return { start, end: Math.max(end, (isRun && this.host.pair?.extent) || 0) };
  }

  /** The number of the step shown, or null; `step` is its index in the list. */
  get stepNumber(): number | null {
    return this.step === null ? null : this.drawn.steps[this.step].step;
  }

  /** Whether the details are still to come. */
  get awaitsDetails(): boolean {
    const { details, detailsError, run } = this;
    return details === null && detailsError === null && (!run.rest || run.rest === "chunks");
  }

  /** The rows of each lane. */
  get rows(): Row[][] {
    return this.derived.rows;
  }

  /** What `history` keeps of the present view. */
  get present(): LeftView {
    return { ...this.viewport, step: this.step, isAligned: this.aligned !== null };
  }

  /** Keep the present view in the history; what one action moves twice is one step back. */
  #remember(gesture: string): void {
    if (this.#isRemembered) return;
    this.#isRemembered = true;
    queueMicrotask(() => (this.#isRemembered = false));
    this.history.push(this.present, gesture);
  }

  /** Choose what `showStep` takes; a step takes the place of the selection. Several choices in a row are one step back. */
  setStep(step: number | null, aligned = false): void {
    this.#remember("step");
    if (step !== null) this.select(null);
    this.chooseStep(step, aligned);
  }

  /** The same when the user returns to a view; a selection outside of it is cleared. */
  chooseStep(step: number | null, aligned: boolean): void {
    const selection = this.host.get("selection");
    const isAll = step === null && !aligned;
    if (!isAll && (this.moment || (selection && !liesIn(this.run, selection, step)))) this.select(null);
    this.showStep(step, aligned);
  }

  /** Show one step (its index in the list), or all of them: as they came, or aligned at their starts. */
  showStep(step: number | null, aligned = false): void {
    this.step = step;
    this.setHover(null, null);
    if (aligned !== (this.aligned !== null)) this.lanes.exchange();
    this.aligned = aligned ? new AlignedSteps(this.run) : null;
    this.derived = new DerivedRows(this.drawn, step);
    this.viewport = fit(this.bounds, this.bounds, 0.01);
    this.scroll = 0;
    this.matches = this.#find();
    this.repaint();
    this.rearrange();
    if (aligned && this.run.steps.length > FEW_STEPS) this.lanes.foldAll(this.arrangement);
    this.emit("viewport");
    this.emit("search");
  }

  /** Draw other data of the same steps and lanes, and keep everything that the user has set up. */
  replace(drawn: Drawn, details: DetailsView | null): void {
    if (!HAS_KERNEL) return;
    // More of the same merged trace has no other lanes, rows or overview; frames should not wait for those.
    const isPart = drawn.rest && this.run.rest && details === this.details;
    this.run = drawn;
    this.aligned &&= new AlignedSteps(drawn);
    this.details = details;
    this.derived = new DerivedRows(this.drawn, this.step);
    this.hover = this.tensor = null;
    this.matches = this.#find();
    this.repaint();
    this.#arrange();
    if (!isPart) {
      this.revision++;
      for (const topic of ["layout", "search", "details", "selection"] as const) this.emit(topic);
    }
    this.emit("viewport");
  }

  rearrange(): void {
    this.#arrange();
    this.revision++;
    this.emit("layout");
  }

  /** Show only the lanes that match the filter. */
  #filter(): void {
    this.#many.open(() => this.#arrange());
    this.rearrange();
  }

  #arrange(): Arrangement {
    this.arrangement = this.#arranged();
    if (!this.aligned && this.#many.begin(this.arrangement, this.drawn)) this.arrangement = this.#arranged();
    this.placement = new Placement(this.drawn, this.arrangement, this.derived.rowNumbers, this.step);
    this.scrollTo(this.scroll, 0);
    return this.arrangement;
  }

  #arranged(): Arrangement {
    const own = ownTracks(this.host.get("tracks"));
    return arrange(this.drawn, this.rows, {
      groupBy: this.host.get("group_by"),
      collapsed: this.lanes.collapsed,
      hidden: this.lanes.hidden,
      pinned: this.lanes.pinned,
      filter: this.host.get("lane_filter"),
      folded: (lane) =>
        (this.lanes.folded.get(laneKey(lane)) ?? this.#beginsFolded(lane))
          ? this.derived.folded(lane.id)
          : null,
      tracks: this.aligned ? [] : this.tracks,
      scale: this.lanes.scale,
      counters: this.aligned ? [] : [...this.counters, ...own.counters],
      bars: this.aligned ? [] : own.bars,
      foldedBars: (key, track) => foldedBars(track, this.lanes.folded.get(key)),
      tensors: (track) =>
        this.lanes.tensors && track.starts.length
          ? tensorRows(track, this.step === null ? undefined : this.whole)
          : null,
      ...(this.lanes.byBusy && { busy: (lane: Lane) => lane.busy ?? this.derived.busy(lane.id) }),
    });
  }

  #beginsFolded(lane: Lane): boolean {
    return !this.lanes.unfolded.has(laneKey(lane)) && this.derived.beginsFolded(lane.id);
  }

  /** The colours of all events: a million take a while, so they are chosen when first asked for. */
  get painting(): Painting {
    if (!this.#painting) {
      this.#painting = new Painting(this.drawn, this.host.get("color_by"), this.#theme, this.#ground);
      this.#painting.dim(this.#mask);
    }
    return this.#painting;
  }

  repaint(theme: Theme = this.#theme, ground: string = this.#ground): void {
    this.#theme = theme;
    this.#ground = ground;
    this.#painting = null;
    this.highlight(null);
  }

  setSearch(text: string): void {
    this.searchText = text;
    this.showMatches();
  }

  /** Use the current search result. */
  showMatches(): void {
    this.matches = this.#find();
    this.highlight(null);
    this.emit("search");
  }

  #find(): Matches | null {
    const { searchText: text, remote, drawn, details, step } = this;
    if (!text.trim()) return null;
    return HAS_KERNEL && remote ? remote.matches(text, step) : search(drawn, details, text, step);
  }

  /** Events with the name and kind of event `id` (an op and its kernel share the name); null while not known. */
  sameName(id: number): SameName | null {
    const { remote, drawn, derived } = this;
    if (HAS_KERNEL && remote) return remote.sameName(id);
    const ids = derived.sameName(id).filter((other) => kindOf(drawn, other) === kindOf(drawn, id));
    return { count: ids.length, total: ids.reduce((sum, other) => sum + drawn.duration[other], 0) };
  }

  setDetails(details: DetailsView): void {
    this.details = details;
    this.code = details.code;
    if (this.searchText) this.showMatches();
    if (details.tracks.length || details.counters.length) this.setTracks(details.tracks, details.counters);
    this.emit("details");
  }

  setTracks(tracks: readonly Track[], counters: readonly CounterTrack[]): void {
    this.tracks = tracks;
    this.counters = counters;
    this.rearrange();
  }

  setCode(code: Code | null): void {
    this.code = code;
    this.emit("details");
  }

  setViewport(viewport: Viewport, gesture: string | null = null): void {
    if (gesture !== null) this.#remember(gesture);
    this.viewport = clampViewport(viewport, this.bounds);
    this.emit("viewport");
  }

  /** Dim all events whose `mask` is 0; null restores the search result. */
  highlight(mask: Uint8Array | null): void {
    this.#mask = mask ?? this.matches?.mask ?? null;
    this.#painting?.dim(this.#mask);
    this.emit("paint");
  }

  setSize(width: number, height: number): void {
    this.width = width;
    this.height = height;
    this.emit("viewport");
  }

  /** Higher lanes stay scrolled beyond their end: a click that opens something would move them under the pointer. */
  scrollTo(scroll: number, kept = this.scroll): void {
    const limit = Math.max(kept, this.arrangement.height - this.height);
    const next = Math.round(Math.min(Math.max(scroll, 0), limit));
    if (next === this.scroll) return;
    this.scroll = next;
    this.emit("viewport");
  }

  get sticky(): StickyGroup | null {
    return stickyGroup(this.arrangement, this.scroll);
  }

  /** How much of the picture the header that stays in sight covers (CSS px from the top). */
  get covered(): number {
    const { sticky } = this;
    return sticky ? sticky.top + GROUP_HEIGHT : 0;
  }

  /** The item at `y` in the picture, and the row in its lane; null if there is nothing. */
  itemAt(y: number): { item: Item; row: number } | null {
    const { sticky } = this;
    if (sticky && y >= 0 && y < this.covered) return { item: sticky.item, row: 0 };
    return itemAt(this.arrangement, y + this.scroll);
  }

  setAnnotations(annotations: readonly Annotation[]): void {
    this.host.set("annotations", annotations);
    this.emit("annotations");
  }

  setOption<K extends keyof Options>(key: K, value: Options[K]): void {
    this.host.set(key, value);
    if (key === "color_by") this.repaint();
    else if (key === "group_by") this.rearrange();
    else if (key === "lane_filter") this.#filter();
    this.emit("panel");
  }
}

class Painting {
  readonly paints: Paints;
  /** The pixel of each colour number, and from 256 on the faint one. */
  readonly colours: Uint32Array;
  /** The colour number of each event; 128 is added while a search does not match it. */
  shade: Uint8Array;

  constructor(
    drawn: Drawn,
    colorBy: ColorBy,
    readonly theme: Theme,
    readonly ground: string,
  ) {
    this.paints = paints(drawn, colorBy, theme);
    this.colours = colourTable(this.paints.css, ground);
    this.shade = this.paints.colour;
  }

  /** Dim what `mask` holds 0 for; null dims nothing. */
  dim(mask: Uint8Array | null): void {
    const { colour } = this.paints;
    this.shade = mask ? colour.map((number, id) => (mask[id] ? number : number + 128)) : colour;
  }
}

class DerivedRows {
  readonly rows: Row[][];
  /** For each event the row of its lane. */
  readonly rowNumbers: Uint32Array;
  readonly #folded = new Map<number, Row>();
  readonly #beginsFolded: boolean[] = [];
  readonly #span: number;
  readonly #levels = new WeakMap<Row, RowLevels>();
  #names: NameIndex | null = null;

  /** `step` is a index in `drawn.steps`, null for all. */
  constructor(
    readonly drawn: Drawn,
    step: number | null,
  ) {
    const { merged } = drawn;
    const shown = step === null ? null : drawn.steps[step];
    this.#span = shown ? shown.end - shown.start : drawn.span;
    this.rows = HAS_KERNEL && merged ? mergedRows(drawn, merged, step) : packLanes(drawn, step);
    this.rowNumbers = HAS_KERNEL && merged ? merged.row : rowNumbers(drawn.count, this.rows);
  }

  levels(row: Row): RowLevels {
    let levels = this.#levels.get(row);
    if (!levels) {
      levels = new RowLevels(row);
      this.#levels.set(row, levels);
    }
    return levels;
  }

  /** Whether a lane is one row unless the user has chosen. */
  beginsFolded(lane: number): boolean {
    // The loaded events of a lane change with the view; its initial state must not.
    this.#beginsFolded[lane] ??= this.drawn.rest === "lanes" || beginsFolded(this.rows[lane], this.#span);
    return this.#beginsFolded[lane];
  }

  /** How long anything runs in a lane (ns). */
  busy(lane: number): number {
    return this.rows[lane].length ? busyTime(this.folded(lane)) : 0;
  }

  /** A lane's events as one row; for lanes that have any. */
  folded(lane: number): Row {
    let row = this.#folded.get(lane);
    if (!row) {
      row = foldRows(this.rows[lane], this.drawn);
      this.#folded.set(lane, row);
    }
    return row;
  }

  /** Event ids with the same name as `id`, in time order unless events are merged. */
  sameName(id: number): Uint32Array {
    this.#names ??= new NameIndex(this.drawn);
    return this.#names.same(id);
  }
}
