/** The tensors in the timeline: whether they are shown, which of them an event made, and what used one last. */

import { entryOfEvent } from "../model/lod/merged";
import type { Track } from "../model/wire/memory";
import type { Store } from "./store";

const byEvent = new WeakMap<Track, Map<number, number[]>>();

/** Why no tensors can be shown; empty if they can. */
export function whyNoTensors({ tracks, details, detailsError, aligned, run }: Store): string {
  if (aligned) return "Tensors are not shown for aligned steps: choose one step, or all";
  if (tracks.some((track) => track.starts.length > 0)) return "";
  if (details || run.rest) return "The trace does not record when tensors were allocated";
  return detailsError ?? "Loading the rest …";
}

/** Shows or hides a bar for each buffer of each allocator; `hint` gets the reason if there are none. */
export function toggleTensors(store: Store, hint: (reason: string) => void): void {
  const reason = whyNoTensors(store);
  if (reason) hint(reason);
  else store.lanes.showTensors(!store.lanes.tensors);
}

/** A buffer of an allocator, by its index. */
export interface Tensor {
  track: Track;
  at: number;
}

/** The buffers that an event allocated, by its id, in the order of their allocation. */
export function tensorsOf(store: Store, event: number): Tensor[] {
  return store.tracks.flatMap((track) => {
    let places = byEvent.get(track);
    if (!places) {
      places = new Map();
      for (let at = 0; at < track.events.length; at++) {
        const own = places.get(track.events[at]);
        if (own) own.push(at);
        else places.set(track.events[at], [at]);
      }
      byEvent.set(track, places);
    }
    return (places.get(event + 1) ?? []).map((at) => ({ track, at }));
  });
}

/** When a buffer was freed, or when its record ended. */
export function endOf({ track, at }: Tensor): number {
  return track.starts[at] + track.lengths[at] * track.unit;
}

/** By event id, the events that held its buffers: the event itself and later holders; [] without any. */
export function holdersOf(store: Store, event: number): number[] {
  const tensors = tensorsOf(store, event);
  const others = tensors.flatMap(({ track, at }) => track.aliases(at).map(({ event }) => event));
  return tensors.length ? [...new Set([event, ...others])] : [];
}

/**
 * The index of the last event that used a buffer: of its readers and later holders, the event that
 * ended
 * closest to its release. Null if nothing freed it, or if not all its users are loaded.
 */
export function lastUser(store: Store, tensor: Tensor): number | null {
  const { details, run } = store;
  const { track, at } = tensor;
  if (!details || track.events[at] === 0 || track.outlives(at)) return null;
  const holders: number[] = [];
  for (const event of [track.events[at] - 1, ...track.aliases(at).map(({ event }) => event)]) {
    const holder = entryOfEvent(run, event);
    if (holder === null || !details.knowsReaders(holder)) return null;
    holders.push(holder);
  }
  const readers = holders.flatMap((event) =>
    details.consumers(event).filter(({ kind }) => kind === "data" || kind === "transfer"),
  );
  const end = endOf(tensor);
  const away = (event: number) =>
    Math.abs((details.compute(event)?.end ?? run.start[event] + run.duration[event]) - end);
  return [...holders, ...readers.map(({ event }) => event)].reduce((best, event) =>
    away(event) < away(best) ? event : best,
  );
}
