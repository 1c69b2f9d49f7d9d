/** The user's actions, whichever key, button or link triggers them. */

import { nameOf } from "../model/lanes/event_text";
import type { LaneItem } from "../model/lanes/layout";
import { nextInLane, verticalNeighbour } from "../model/lanes/neighbours";
import { knownCount, matchAt } from "../model/search/search";
import type { Place } from "../model/wire/code";
import { type Edge, STRONGEST_FIRST } from "../model/wire/dataflow";
import { dimOthers, eventsOfLine, whyNoCode } from "../state/code";
import { LOADING, whyNoGraph } from "../state/graph";
import { searchResults, selectBar } from "../state/own_tracks";
import { addressOfView, whyNoLink } from "../state/view_link";
import { whyNoDate } from "../state/wall_clock";
import { Annotating } from "./annotating";

export class Actions extends Annotating {
  /** Until matches are found. */
  #looking = new AbortController();

  /** Give the keys back to the lanes. */
  focusLanes(): void {
    this.surroundings.focusLanes();
  }

  /** Go to the search; false if the focus is there already. */
  focusSearch(): boolean {
    return this.surroundings.focusSearch();
  }

  clear(): void {
    const { store } = this;
    if (store.searchText) store.setSearch("");
    else if (store.selection || store.moment) store.select(null);
    else if (store.marks.length) store.setMarks([]);
    else store.setPanel({ graphOpen: false });
  }

  /** Go to the next or previous match; where matches are still being looked for, once they are found. */
  nextMatch(direction: 1 | -1): void {
    const { store } = this;
    this.#looking.abort();
    if (!store.matches && store.searchText.trim()) {
      this.#looking = new AbortController();
      store.on(["search"], () => this.nextMatch(direction), this.#looking.signal);
    }
    if (!store.matches) return;
    const { bars, bar, place } = searchResults(store);
    const events = knownCount(store.matches);
    const all = events + bars.length;
    if (!all) return;
    const at = bar < 0 ? place : events + bar;
    const next = at < 0 && direction < 0 ? all - 1 : (at + direction + all) % all;
    if (next < events) this.visitEvent(matchAt(store.matches, next));
    else selectBar(store, bars[next - events].track, bars[next - events].at);
  }

  /** The previous or next event of the same lane. */
  stepInLane(direction: 1 | -1): void {
    const { store } = this;
    const id = store.selected;
    const next =
      id === null
        ? this.#firstVisible()
        : nextInLane(store.rows[store.drawn.lane[id]] ?? [], id, direction, store.drawn);
    if (next !== null) this.visit(next, true);
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
    if (next !== null) this.visit(next, true);
  }

  /** Along the dataflow: to a producer or a consumer of the selected event; the strongest link first. */
  follow(direction: 1 | -1): void {
    const { store } = this;
    const id = store.selected;
    if (id === null || !store.details) return;
    const edges = direction > 0 ? store.details.consumers(id) : store.details.inputs(id);
    const strength = ({ kind }: Edge) => STRONGEST_FIRST.indexOf(kind);
    const best = [...edges].sort((a, b) => strength(a) - strength(b))[0];
    if (best) this.visit(best.event, true);
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

  /** Open the menu of how the timeline is drawn, with the named views. */
  openView(): void {
    this.surroundings.openView();
  }

  /** Copy the address of this page at the present view. */
  copyLink(): void {
    const reason = whyNoLink(this.store);
    if (reason) this.surroundings.hint(reason);
    else this.copy(addressOfView(this.store));
  }

  /** Copy the names of the selected events, a line each; false without any, or if text is selected. */
  copySelected(): boolean {
    const { selection, drawn } = this.store;
    if (`${getSelection() ?? ""}` || !selection || !("events" in selection) || selection.events.length === 0)
      return false;
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

  /** Zoom to the events of a lane. */
  showLane({ lane }: LaneItem): void {
    const { start, end } = this.store.derived.folded(lane);
    this.show({ start: start[0], end: Math.max(end[end.length - 1], start[0] + 10) });
  }

  /** Fold the lane or group under the pointer, else the lane of the selection; or unfold it. */
  fold(): void {
    const { store } = this;
    const lane = store.selected === null ? store.range?.lanes?.[0] : store.drawn.lane[store.selected];
    const item =
      store.arrangement.items.find(({ key }) => key === store.pointed) ??
      (lane === undefined ? undefined : store.placement.lane(lane));
    if (item?.type === "group") store.lanes.fold(item.key);
    else if (item && "depth" in item && item.depth > 1) store.lanes.foldLane(item);
    else this.surroundings.hint("Point at or select in a lane with several rows, then press Z");
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
}
