/** Loading after the first picture: the details, and the rest of a trace that starts as an outline. */

import type { Answer, Question } from "../host/host";
import { formatCount } from "../model/format/units";
import { GROUP_HEIGHT } from "../model/lanes/layout";
import { firstAtLeast } from "../model/lod/bisect";
import { exactEntries, type SameName, SparseDetails, type WholeNumbers } from "../model/lod/exact_events";
import { entryOfEvent, eventAt } from "../model/lod/merged";
import { type Window, wantedWindow } from "../model/lod/next_window";
import { compose, concatColumns, type Outline, type OutlinePart } from "../model/lod/outline";
import { parseQuery } from "../model/search/query";
import type { By, RangeSelection, RangeStatistics } from "../model/search/range_statistics";
import type { Matches } from "../model/search/search";
import { type Entries, readDrawn, readEntries } from "../model/wire/bars";
import { readCode } from "../model/wire/code";
import { type Container, openContainer, stringsIn } from "../model/wire/container";
import { readCounters, withParts } from "../model/wire/counters";
import { type DetailsView, readDetails } from "../model/wire/details";
import { readTracks } from "../model/wire/memory";
import type { KernelQueries, Notice } from "./kernel_queries";
import { lanesSeen } from "./many_lanes";
import type { Navigation } from "./navigation";
import type { Store } from "./store";
import { holdersOf } from "./tensors";

const message = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** Fetch it; `outline` is the coarse picture drawn first, null if everything was drawn. */
export function loadRest(store: Store, outline: Outline | null, navigation: Navigation): void {
  if (HAS_KERNEL) store.host.watchTrouble?.(() => store.emit("panel"), store.signal);
  if (!HAS_KERNEL || !outline) loadDetails(store, store.host.details(store.signal));
  else if (outline.described.rest !== "chunks") new LargeTrace(store, outline, navigation, store.signal);
  else loadChunks(store, outline, navigation);
}

function loadDetails(store: Store, bytes: Promise<Uint8Array>): void {
  bytes
    .then((details) => readDetails(details, store.drawn))
    .then((details) => {
      if (store.signal.aborted) return;
      store.setDetails(details);
      showLateTask(store);
    })
    .catch((error: unknown) => {
      store.failDetails(`The details cannot be shown: ${message(error)}`);
    });
}

/** Scroll to the lanes of the task that the headline names, unless the user has begun to look elsewhere. */
function showLateTask(store: Store): void {
  const task = store.details?.overview?.task;
  const { drawn, scroll, height, selection, hover, lanes } = store;
  if (!task || scroll || selection || hover !== null || lanes.pinned.length) return;
  const isOf = (lane: number) => drawn.lanes[lane].task === task;
  const { items } = store.arrangement;
  const own = items.filter((item) =>
    item.type === "lane" ? isOf(item.lane) : item.type === "group" && item.lanes.every(isOf),
  );
  const last = own.at(-1);
  if (!last) return;
  const least = Math.min(own[0].y, last.y + last.height - height);
  // The header of its group would cover the label of a lane that is cut, unless the rest of the lane is tall.
  const ends = items.map((item) => item.y + item.height - GROUP_HEIGHT);
  const top = ends.find((end) => end > least && end < least + GROUP_HEIGHT) ?? least;
  store.scrollTo(top, top);
}

/** The outline serves, as that of a larger trace would, until everything is here. */
function loadChunks(store: Store, outline: Outline, navigation: Navigation): void {
  const { host, signal } = store;
  const meanwhile = new AbortController();
  signal.addEventListener("abort", () => meanwhile.abort());
  const large = new LargeTrace(store, outline, navigation, meanwhile.signal);
  const shown = `${formatCount(outline.entries.length)} of ${formatCount(outline.total)}`;
  const progress = (done: number, total: number) =>
    large.requests.notice({ text: `Showing ${shown} events, loading …`, part: done / total });
  progress(0, 1);
  const drawn = host.rest("drawn", progress, signal);
  // Asked for at once: the kernel may be busy by the time the first answer is here.
  const details = host.rest("details", () => {}, signal);
  const whole = drawn.then(readDrawn).then((all) => {
    if (signal.aborted) return;
    meanwhile.abort();
    store.remote = null;
    store.replace(all, null);
    store.setNotice(null);
  });
  whole.catch((error: unknown) => {
    large.requests.notice(null);
    store.fail(`The trace could not be loaded: ${message(error)}`);
  });
  loadDetails(
    store,
    whole.then(() => details),
  );
}

/** A gesture moves on before an answer could come: the first question waits for so long to be about its end. */
const PAUSE_MS = 90;
/** For more events the kernel sends nothing at once. */
const MOST_LISTED = 200;

/** A trace too large for the browser: its outline, the part in view in detail, and requests to the kernel. */
export class LargeTrace implements KernelQueries {
  readonly requests: KernelRequests;
  #part: OutlinePart | null = null;
  #partText = "";
  #requested: Window | null = null;
  #timer = 0;
  #hasMemory = false;
  #exact: Entries | null = null;
  #search: KernelSearch | null = null;
  /** The search whose result to go to once it arrives. */
  #visited: KernelSearch | null = null;
  #same: { event: number; same: SameName } | null = null;
  /** The selected events that were last asked for, and how far around them. */
  #wanted = "";

  constructor(
    readonly store: Store,
    readonly outline: Outline,
    readonly navigation: Navigation,
    readonly signal: AbortSignal,
  ) {
    this.requests = new KernelRequests(store, signal);
    store.remote = this;
    store.on(this.#isSparse ? ["viewport", "layout"] : ["viewport"], () => this.#consider(), signal);
    store.on(["selection", "panel"], () => this.#look(), signal);
    signal.addEventListener("abort", () => clearTimeout(this.#timer));
    this.#consider();
    this.#look();
  }

  /** Whether lanes are asked for, those in view. */
  get #isSparse(): boolean {
    return this.outline.described.rest === "lanes";
  }

  matches(text: string, step: number | null): Matches | null {
    let search = this.#search;
    if (search?.text !== text || search.step !== step) {
      search = { text, step, ids: null, found: NOTHING, isMatch: new Uint8Array(0) };
      this.#search = search;
      this.#find(search);
    }
    return search.ids && { ids: search.ids, mask: this.#mask(search.ids, search), ...search.found };
  }

  visit(text: string): void {
    this.store.setSearch(text);
    this.#visited = this.#search;
    this.#fit();
  }

  sameName(entry: number): SameName | null {
    const isSelected = eventAt(this.store.drawn, entry) === this.#same?.event;
    return isSelected ? (this.#same?.same ?? null) : null;
  }

  async statistics(range: RangeSelection, by: By): Promise<RangeStatistics | null> {
    const { start, end, lanes, step } = range;
    const answer = await this.requests.ask({ kind: "statistics", start, end, lanes, step, by });
    return answer?.answer as RangeStatistics | null;
  }

  /** The number of a step, by which the kernel knows it. */
  #numberOf(step: number | null): number | null {
    return step === null ? null : this.store.drawn.steps[step].step;
  }

  async #find(search: KernelSearch): Promise<void> {
    const { text, step } = search;
    const answer = await this.requests.ask({
      kind: "search",
      clauses: parseQuery(text),
      step: this.#numberOf(step),
    });
    // The user may have typed another search by now.
    if (!answer || this.#search !== search || this.signal.aborted) return;
    const [ids, isMatch] = answer.buffers;
    search.found = answer.answer as KernelSearch["found"];
    search.ids = new Uint32Array(ids.slice().buffer);
    search.isMatch = isMatch;
    this.store.showMatches();
    this.#fit();
    this.#consider();
  }

  #fit(): void {
    const search = this.#visited;
    if (search !== this.#search || !search?.ids) return;
    this.#visited = null;
    const { span } = search.found;
    if (!span) return;
    if (search.ids.length <= MOST_LISTED) this.store.selectInRun({ events: [...search.ids] });
    this.navigation.show({ start: span.start, end: Math.max(span.end, span.start + 1) });
  }

  /** Which entries stand for something found. */
  #mask(ids: Uint32Array, search: KernelSearch): Uint8Array {
    const { merged, count } = this.store.drawn;
    const blocks = [this.outline.entries, this.#part?.entries, this.#exact].filter((block) => !!block);
    const isOf = (block: Entries) => block === this.#part?.entries && this.#partText === search.text;
    const mask = concatColumns(blocks, Uint8Array, count, (block) =>
      block === this.outline.entries ? search.isMatch : isOf(block) ? block.isMatch : null,
    );
    for (let entry = merged?.fine ?? count; entry < count; entry++) {
      const event = merged?.events[entry] ?? entry;
      mask[entry] = ids[firstAtLeast(ids, event)] === event ? 1 : 0;
    }
    return mask;
  }

  /** Ask for the part in view unless it is there; one question at a time, always about the latest view. */
  #consider(): void {
    if (this.#requested || this.#timer) return;
    if (!this.#want()) {
      this.#remember();
      return;
    }
    this.#timer = setTimeout(() => {
      this.#timer = 0;
      this.#ask();
    }, PAUSE_MS) as unknown as number;
  }

  #want(): Window | null {
    const { store, outline } = this;
    const text = this.#search?.ids ? this.#search.text : "";
    const held = this.#part && this.#partText === text ? this.#part : null;
    const pixels = store.width * (globalThis.devicePixelRatio || 1);
    if (pixels < 1) return null;
    const { viewport, bounds } = store;
    if (!this.#isSparse) return wantedWindow(viewport, pixels, bounds, outline.bucket, held);
    const seen = lanesSeen(store, 0);
    const hasAll = held !== null && seen.every((lane) => held.lanes?.has(lane));
    const isOutlined = seen.every((lane) => store.drawn.lanes[lane].sums);
    const bucket = isOutlined ? outline.bucket : Number.POSITIVE_INFINITY;
    return wantedWindow(viewport, pixels, bounds, bucket, hasAll ? held : null);
  }

  async #ask(): Promise<void> {
    const want = this.#want();
    if (!want) return;
    this.#requested = want;
    const { ids, text = "", step = null } = this.#search ?? {};
    const lanes = this.#isSparse ? lanesSeen(this.store, this.store.height) : null;
    const found = { clauses: ids ? parseQuery(text) : null, step: ids ? this.#numberOf(step) : null };
    const answer = await this.requests.ask({ kind: "window", ...want, lanes, ...found });
    const isShown = answer && (await this.#take(answer, lanes, ids ? text : ""));
    this.#requested = null;
    if (isShown) this.#consider();
  }

  /** Show the part in an answer; false if it cannot be read. The next view is asked for all the same. */
  async #take({ buffers }: Answer, lanes: number[] | null, text: string): Promise<boolean> {
    try {
      const { header, entries } = await readEntries<Window>(buffers[0]);
      const counters = buffers[1] && (await openContainer(buffers[1]));
      if (this.signal.aborted) return false;
      const { start, end, bucket } = header;
      this.#part = { start, end, bucket, lanes: lanes && new Set(lanes), entries };
      this.#partText = text;
      if (counters) this.#counterParts(counters, header);
      this.#show(this.store.details);
      return true;
    } catch (error) {
      this.requests.fail("sent an answer that cannot be read", error);
      return false;
    }
  }

  /** Ask for the memory and the code once nothing else is wanted: they take the kernel a while to find. */
  async #remember(): Promise<void> {
    if (this.#hasMemory || this.outline.described.rest !== "windows") return;
    this.#hasMemory = true;
    const answer = await this.requests.ask({ kind: "memory" });
    if (!answer || this.signal.aborted) return;
    const container = await openContainer(answer.buffers[0]);
    const tracks = readTracks(container, stringsIn(container));
    const more = await this.requests.ask({ kind: "counters" });
    if (!more || this.signal.aborted) return;
    const counters = readCounters(await openContainer(more.buffers[0]));
    if (tracks.length || counters.length) this.store.setTracks(tracks, counters);
    this.#look();
    const code = await this.requests.ask({ kind: "code" });
    if (!code || this.signal.aborted) return;
    this.store.setCode(readCode(await openContainer(code.buffers[0])));
  }

  #counterParts(container: Container, { start, end }: Window): void {
    const { store } = this;
    const parts = readCounters(container);
    if (parts.length === store.counters.length)
      store.setTracks(store.tracks, withParts(store.counters, parts, start, end));
  }

  #show(details: DetailsView | null): void {
    this.store.replace(compose(this.outline, this.#part, this.#exact), details);
  }

  /** Have all about the selected events at hand. */
  async #look(): Promise<void> {
    const { store } = this;
    const selection = store.host.get("selection");
    const events = selection && "events" in selection ? selection.events.slice(0, MOST_LISTED) : [];
    const hops = store.graphOpen ? store.graphHops : 1;
    const holders = events.length === 1 ? holdersOf(store, events[0]) : [];
    const wanted = `${hops} ${events} ${holders}`;
    if (wanted === this.#wanted) return;
    this.#wanted = wanted;
    if (events.length === 0) return;
    const isUnknown = events.some((event) => entryOfEvent(store.drawn, event) === null);
    const answer = await this.requests.ask({ kind: "events", events, hops, holders });
    if (!answer || this.#wanted !== wanted) return;
    const numbers = answer.answer as WholeNumbers;
    const drawn = await readDrawn(answer.buffers[0]);
    const known = await readDetails(answer.buffers[1], drawn);
    if (this.signal.aborted || this.#wanted !== wanted) return;
    const { originNs } = this.outline.described;
    this.#exact = exactEntries(drawn, numbers, originNs);
    this.#same = numbers.same ? { event: events[0], same: numbers.same } : null;
    const later = Number(drawn.originNs - originNs);
    this.#show(new SparseDetails(known, numbers, later, () => store.drawn));
    if (isUnknown) this.navigation.revealSelection();
  }
}

/** A kernel that has not answered by then is doing something else. */
const PATIENCE_MS = 1000;

class KernelRequests {
  #open = 0;
  #timer = 0;
  /** Shown while no question has to wait. */
  #idle: Notice | null = null;

  constructor(
    readonly store: Store,
    readonly signal: AbortSignal,
  ) {
    signal.addEventListener("abort", () => clearTimeout(this.#timer));
  }

  get #source(): string {
    return this.store.host.source ?? "kernel";
  }

  get #busy(): Notice {
    return { text: `The ${this.#source} is busy; showing less detail until it answers`, part: null };
  }

  /** Shows this notice whenever there is nothing to wait for. */
  notice(notice: Notice | null): void {
    this.#idle = notice;
    this.store.setNotice(notice);
  }

  /** Shows what went wrong with an answer. */
  fail(what: string, error: unknown): void {
    this.store.fail(`The ${this.#source} ${what}: ${error instanceof Error ? error.message : error}`);
  }

  /** The answer, or null when there is none; then the user has seen why. */
  async ask(question: Question): Promise<Answer | null> {
    const { store, signal } = this;
    if (this.#open++ === 0)
      this.#timer = setTimeout(() => store.setNotice(this.#busy), PATIENCE_MS) as unknown as number;
    try {
      return await store.host.ask(question, signal);
    } catch (error) {
      if (!store.host.end?.aborted) this.fail("could not answer", error);
      return null;
    } finally {
      if (--this.#open === 0 && !signal.aborted) {
        clearTimeout(this.#timer);
        store.setNotice(this.#idle);
      }
    }
  }
}

interface KernelSearch {
  text: string;
  step: number | null;
  /** Null until the answer comes. */
  ids: Uint32Array | null;
  found: Pick<Matches, "count" | "total" | "busy" | "longest" | "span">;
  /** Which entries of the outline stand for something found. */
  isMatch: Uint8Array;
}

const NOTHING = { count: 0, total: 0, busy: 0, longest: [] };
