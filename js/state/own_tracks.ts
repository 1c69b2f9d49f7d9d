/** Going to the bars of the user's own tracks. */

import type { Viewport } from "../model/viewport";
import type { OwnBars } from "../model/wire/own_tracks";
import type { Store } from "./store";

/** From the start of a bar to its end, at least wide enough to be looked at. */
export function rangeOf({ starts, lengths }: OwnBars, at: number): Viewport {
  return { start: starts[at], end: starts[at] + Math.max(lengths[at], 10) };
}

/** Select the time of a bar, and bring it into view. */
export function selectBar(store: Store, track: OwnBars, at: number): void {
  const range = rangeOf(track, at);
  const { start, end } = store.viewport;
  store.select({ ...range, lanes: null, step: store.stepNumber });
  const half = (end - start) / 2;
  if (range.end < start || range.start > end)
    store.setViewport({ start: range.start - half, end: range.start + half }, "bar");
}

/** Select the bar after the selected time, the first one after the last. */
export function selectNextBar(store: Store, track: OwnBars): void {
  const from = store.range?.start ?? Number.NEGATIVE_INFINITY;
  const next = track.starts.findIndex((start) => start > from);
  if (track.starts.length) selectBar(store, track, Math.max(next, 0));
}
