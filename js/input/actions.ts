/** The user's actions, whichever key, button or link triggers them. */

import type { Annotation } from "../model/annotations";
import { nameOf } from "../model/lanes/event_text";
import type { LaneItem } from "../model/lanes/layout";
import { nextInLane, verticalNeighbour } from "../model/lanes/neighbours";
import { eventCount } from "../model/lod/merged";
import { neighbour } from "../model/search/search";
import type { Place } from "../model/wire/code";
import { type Edge, STRONGEST_FIRST } from "../model/wire/dataflow";
import { draftOf } from "../state/annotations";
import { dimOthers, eventsOfLine, whyNoCode } from "../state/code";
import { LOADING, whyNoGraph } from "../state/graph";
import type { Mark } from "../state/hover_and_marks";
import { Navigation } from "../state/navigation";
import type { Store } from "../state/store";
import { whyNoDate } from "../state/wall_clock";

/** What actions need of the page around the lanes. */
export interface Surroundings {
  focusLanes: () => void;
  focusSearch: () => void;
  /** Fill the screen, or leave it. */
  fullScreen: () => Promise<void>;
  /** Put a text into the clipboard. */
  copy: (text: string) => Promise<void>;
  /** Opens the menu of the selection. */
  openMenu: () => void;
  /** Show a short message for a while. */
  hint: (text: string) => void;
}

export class Actions extends Navigation {
  /** Until matches are found. */
  #looking = new AbortController();

  constructor(
    store: Store,
    readonly surroundings: Surroundings,
  ) {
    super(store);
  }

  /** Give the keys back to the lanes. */
  focusLanes(): void {
    this.surroundings.focusLanes();
  }

  focusSearch(): void {
    this.surroundings.focusSearch();
  }

  clear(): void {
    const { store } = this;
    if (store.searchText) store.setSearch("");
    else if (store.selection || store.moment) store.select(null);
    else if (store.marks.length) store.setMarks([]);
    else store.setPanel({ graphOpen: false });
  }

  /** Open the details of the whole run, which a selection or a search would replace. */
  showOverview(asked: { isAskedForNotes?: true; isAskedForAnnotations?: true } = {}): void {
    const { store } = this;
    if (store.searchText) store.setSearch("");
    store.select(null);
    store.setPanel({ panelOpen: true, ...asked });
  }

  /** Go to the next or previous match; where matches are still being looked for, once they are found. */
  nextMatch(direction: 1 | -1): void {
    const { store } = this;
    this.#looking.abort();
    if (!store.matches && store.searchText.trim()) {
      this.#looking = new AbortController();
      store.on(["search"], () => this.nextMatch(direction), this.#looking.signal);
    }
    if (!store.matches?.ids.length) return;
    // By event id, because the last match visited may not be in the browser yet.
    const selection = store.host.get("selection");
    const last = selection && "events" in selection ? selection.events[0] : undefined;
    const from = last ?? (direction > 0 ? -1 : eventCount(store.drawn));
    const event = neighbour(store.matches, from, direction);
    if (event !== null) this.visitEvent(event);
  }

  /** The previous or next event of the same lane. */
  stepInLane(direction: 1 | -1): void {
    const { store } = this;
    const id = store.selected;
    const next =
      id === null
        ? this.#firstVisible()
        : nextInLane(store.rows[store.drawn.lane[id]] ?? [], id, direction, store.drawn);
    if (next !== null) this.visit(next);
  }

  stepAcross(direction: 1 | -1): void {
    const { store } = this;
    const id = store.selected;
    if (id === null) {
      this.stepInLane(1);
      return;
    }
    const time = (store.drawn.start[id] + store.end(id)) / 2;
    const next = verticalNeighbour(store.arrangement, id, time, direction, store.drawn);
    if (next !== null) this.visit(next);
  }

  /** Along the dataflow: to a producer or a consumer of the selected event; the strongest link first. */
  follow(direction: 1 | -1): void {
    const { store } = this;
    const id = store.selected;
    if (id === null || !store.details) return;
    const edges = direction > 0 ? store.details.consumers(id) : store.details.inputs(id);
    const strength = ({ kind }: Edge) => STRONGEST_FIRST.indexOf(kind);
    const best = [...edges].sort((a, b) => strength(a) - strength(b))[0];
    if (best) this.visit(best.event);
  }

  /** Show the graph around the selected event, or put it away. */
  toggleGraph(): void {
    const { store } = this;
    const reason = whyNoGraph(store, store.selected);
    if (reason && reason !== LOADING && !store.graphOpen) this.surroundings.hint(reason);
    else store.setPanel({ graphOpen: !store.graphOpen, codeOpen: false });
  }

  /** Show the code, at a line of it if one is given, or put it away. */
  toggleCode(place: Place | null = null): void {
    const { store } = this;
    const reason = whyNoCode(store);
    if (reason) this.surroundings.hint(reason);
    else store.setPanel({ codeOpen: place !== null || !store.codeOpen, graphOpen: false, codePlace: place });
  }

  /** Select the events of a line, of one phase unless `phase` is "", and fit them into the view. */
  selectLine(place: Place, phase = ""): void {
    const { store } = this;
    store.setPanel({ codePlace: place });
    if (HAS_KERNEL && store.remote) {
      store.remote.visit(`file:"${place.file.replaceAll('"', "")}" line:${place.line}`);
      return;
    }
    const all = eventsOfLine(store, place, phase);
    const shown = all.filter((id) => store.placement.isShown(id));
    const events = shown.length ? shown : all;
    if (!events.length) return;
    store.select({ events });
    if (shown.length) this.keepSelectedInSight();
    else this.revealSelection();
    this.show(this.selectedSpan()!);
    dimOthers(store, events);
  }

  /** Show the date and the time of day on the axis, or the time since the start again. */
  toggleWallClock(): void {
    const { store } = this;
    const reason = whyNoDate(store);
    if (reason) this.surroundings.hint(reason);
    else store.setWallClock(!store.isWallClock);
  }

  /** Fill the screen with the timeline, or leave it. */
  fullScreen(): void {
    this.surroundings
      .fullScreen()
      .catch(() => this.surroundings.hint("The browser does not allow full screen here"));
  }

  /** Open the menu of the selected event, or of the first lane in view. */
  openMenu(): void {
    this.surroundings.openMenu();
  }

  copy(text: string): void {
    const { hint, copy } = this.surroundings;
    copy(text).then(
      () => hint("Copied"),
      (error: unknown) => hint(`Not copied: ${error instanceof Error ? error.message : error}`),
    );
  }

  /** Copy the names of the selected events, a line each; false where there are none. */
  copySelected(): boolean {
    const { selection, drawn } = this.store;
    if (!selection || !("events" in selection) || selection.events.length === 0) return false;
    this.copy(selection.events.map((id) => nameOf(drawn, id)).join("\n"));
    return true;
  }

  /** Select all events with the name of one; where the kernel holds them, search for them. */
  selectSameName(id: number): void {
    const { store } = this;
    if (HAS_KERNEL && store.remote) store.setSearch(`name:"${nameOf(store.drawn, id)}"`);
    else
      store.select({
        events: [
          id,
          ...store.derived.sameName(id).filter((other) => other !== id && store.placement.isShown(other)),
        ],
      });
  }

  /** Zoom to what a lane has. */
  showLane({ lane }: LaneItem): void {
    const { start, end } = this.store.derived.folded(lane);
    this.show({ start: start[0], end: Math.max(end[end.length - 1], start[0] + 10) });
  }

  /** Fold the lane or group under the pointer, else the lane of what is selected; or unfold it. */
  fold(): void {
    const { store } = this;
    const lane = store.selected === null ? store.range?.lanes?.[0] : store.drawn.lane[store.selected];
    const item =
      store.arrangement.items.find(({ key }) => key === store.pointed) ??
      (lane === undefined ? undefined : store.placement.lane(lane));
    if (item?.type === "group") store.lanes.fold(item.key);
    else if (item?.type === "lane" && item.depth > 1) store.lanes.foldLane(item);
    else
      this.surroundings.hint(
        "To fold a lane with several rows, point at it or select an event in it, then press Z",
      );
  }

  /** Name and comment what is selected, measured or pointed at. */
  annotate(): void {
    const draft = draftOf(this.store);
    // A cell of a fleet's page shows its timeline for a while only.
    if (!this.store.host.exports.includes("html"))
      this.surroundings.hint("To annotate it, open the trace in a timeline of its own");
    else if (draft) this.store.setPanel({ draft, panelOpen: true });
    else
      this.surroundings.hint("To annotate, select an event, drag a range or point at a time, then press N");
  }

  /** Show the list of all annotations. */
  listAnnotations(): void {
    if (this.store.host.get("annotations").length) this.showOverview({ isAskedForAnnotations: true });
    else this.surroundings.hint("There are no annotations yet: press N to make one");
  }

  /** Bring what an annotation is about into view, and select it. */
  visitAnnotation({ kind, start, end, lanes, event }: Annotation): void {
    const { store } = this;
    if (event !== null) {
      this.visitEvent(event);
      return;
    }
    const { whole } = store;
    if (store.aligned || end < whole.start || start > whole.end) store.showStep(null);
    store.selectInRun(kind === "mark" ? null : { start, end, lanes, step: null });
    if (lanes?.length) this.keepLanesInSight(lanes);
    const { viewport } = store;
    const span = viewport.end - viewport.start;
    if (end > start) this.show({ start, end });
    else if (start < viewport.start || start > viewport.end)
      this.show({ start: start - span / 2, end: start + span / 2 }, 0);
  }

  /** Zoom so far in that annotations that share a flag have one each. */
  showAnnotations(annotations: readonly Annotation[]): void {
    const starts = annotations.map(({ start }) => start);
    const [start, end] = [Math.min(...starts), Math.max(...starts)];
    if (end > start) this.show({ start, end }, 0.4);
    else this.listAnnotations();
  }

  #firstVisible(): number | null {
    const { store } = this;
    for (const item of store.arrangement.items) {
      if (item.type !== "lane" || item.y + item.height < store.scroll) continue;
      for (const row of item.rows) {
        const at = row.end.findIndex(
          (end, index) => end >= store.viewport.start && row.start[index] <= store.viewport.end,
        );
        if (at >= 0) return row.ids[at];
      }
    }
    return null;
  }

  /** Mark the selected interval; a kept mark stays, a passing one is replaced, marking it again takes it away. */
  mark(kept: boolean): void {
    const { store } = this;
    const span = this.selectedSpan();
    if (!span && store.marks.length === 0)
      this.surroundings.hint("To measure, select an event or drag a range, then press M");
    const isSame = (mark: Mark) => span && mark.start === span.start && mark.end === span.end;
    const isPresent = store.marks.some((mark) => isSame(mark) && mark.kept === kept);
    const others = store.marks.filter((mark) => mark.kept && !isSame(mark));
    store.setMarks(span && !isPresent ? [...others, { ...span, kept }] : others);
  }
}
