/** Going to the bars of the user's own tracks. */

import { ROW_HEIGHT } from "../model/lanes/layout";
import { barTop, OWN_TRACKS } from "../model/lanes/tracks";
import { placeOf } from "../model/search/search";
import type { Viewport } from "../model/viewport";
import { barsWith, type OwnBar, type OwnBars, ownTracks } from "../model/wire/own_tracks";
import type { Store } from "./store";

/** From the start of a bar to its end, at least wide enough to be looked at. */
export function rangeOf({ starts, lengths }: OwnBars, at: number): Viewport {
  return { start: starts[at], end: starts[at] + Math.max(lengths[at], 10) };
}

/** Select the time of a bar, and bring it into view. */
export function selectBar(store: Store, track: OwnBars, at: number): void {
  const range = rangeOf(track, at);
  store.ownBar = { track, at };
  const { start, end } = store.viewport;
  store.select({ ...range, lanes: null, step: store.stepNumber });
  const half = (end - start) / 2;
  if (range.end < start || range.start > end)
    store.setViewport({ start: range.start - half, end: range.start + half }, "bar");
  if (store.lanes.collapsed.has(OWN_TRACKS)) store.lanes.uncover([OWN_TRACKS], false);
  const item = store.arrangement.items.find((each) => each.type === "bars" && each.track === track);
  if (item?.type !== "bars") return;
  const row = item.rows.findIndex(({ ids }) => ids.includes(at));
  const top = item.y + barTop(Math.max(row, 0));
  if (top < store.scroll || top > store.scroll + store.height - ROW_HEIGHT)
    store.scrollTo(top - store.height / 2);
}

/** Select the bar after the selected time, the first one after the last. */
export function selectNextBar(store: Store, track: OwnBars): void {
  const from = store.range?.start ?? Number.NEGATIVE_INFINITY;
  const next = track.starts.findIndex((start) => start > from);
  if (track.starts.length) selectBar(store, track, Math.max(next, 0));
}

/** The bars that the search finds among the times that can be seen; steps that are aligned show none. */
export function foundBars({ aligned, bounds, host, searchText }: Store): OwnBar[] {
  if (aligned || !searchText.trim()) return [];
  return barsWith(ownTracks(host.get("tracks")).bars, searchText).filter(({ track, at }) => {
    const { start, end } = rangeOf(track, at);
    return start < bounds.end && end > bounds.start;
  });
}

/** The bar that was gone to, as long as its time is selected. */
export function selectedBar({ ownBar, range }: Store): OwnBar | null {
  if (!ownBar || !range) return null;
  const { start, end } = rangeOf(ownBar.track, ownBar.at);
  return start === range.start && end === range.end ? ownBar : null;
}

/** The bars that match, which follow the events, and the places of the selected bar and event; -1 if none is selected. */
export function searchResults(store: Store): { bars: OwnBar[]; bar: number; place: number } {
  const bars = foundBars(store);
  const chosen = selectedBar(store);
  const bar = bars.findIndex(({ track, at }) => track === chosen?.track && at === chosen.at);
  // By event id, because the last match visited may not be in the browser yet.
  const selection = store.host.get("selection");
  const event = selection && "events" in selection ? selection.events[0] : -1;
  return { bars, bar, place: store.matches ? placeOf(store.matches, event) : -1 };
}
