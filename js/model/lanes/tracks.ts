/** Tracks below the lanes of a device: memory, its buffers and counters. */

import type { Row } from "../types";
import { type CounterTrack, counterName } from "../wire/counters";
import type { Track } from "../wire/memory";
import type { OwnBars } from "../wire/own_tracks";
import { matchesLane } from "./labels";
import type { TensorRows } from "./tensor_rows";

/** The least height of memory and counters. */
export const TRACK_HEIGHT = 38;
const LOW_TRACK_HEIGHT = 24;
/** An allocator with a smaller part of the highest peak gets a low lane. */
const LOW_MEMORY_SHARE = 0.02;

/** Of own bars: from one row to the next, and the room above and below (CSS px). */
const BAR_ROW = 17;
const BAR_PAD = 3;
/** Key of the group of the user's own tracks. */
export const OWN_TRACKS = "own:tracks";
const NOWHERE = { task: "", device: "" };

interface TrackItem {
  key: string;
  /** Its place if no group above names it; else "". */
  context: string;
  y: number;
  height: number;
}

/** The memory of an allocator. */
export interface MemoryItem extends TrackItem {
  type: "memory";
  track: Track;
}

/** The buffers of an allocator, each as a bar. */
export interface TensorsItem extends TrackItem {
  type: "tensors";
  track: Track;
  tensors: TensorRows;
}

/** The values of a counter. */
export interface CounterItem extends TrackItem {
  type: "counter";
  track: CounterTrack;
}

/** Bars of the user's own. */
export interface BarsItem extends TrackItem {
  type: "bars";
  track: OwnBars;
  /** Its rows, or the one that stands for all of them. */
  rows: Row[];
  /** How many rows it has unfolded. */
  depth: number;
  folded: boolean;
}

export type AnyTrackItem = MemoryItem | TensorsItem | CounterItem | BarsItem;

export interface TrackOptions {
  /** Memory of allocators, below the lanes of their devices. */
  tracks: readonly Track[];
  /** How many times their least height rows, memory and counters have. */
  scale?: number;
  /** The bars of its buffers; null if hidden. */
  tensors: (track: Track) => TensorRows | null;
  /** Counters, below the memory. */
  counters: readonly CounterTrack[];
  /** Bars of the user's own, below everything. */
  bars?: readonly OwnBars[];
  /** The single row of folded bars; null for unfolded ones. */
  foldedBars?: (key: string, track: OwnBars) => Row | null;
}

/** Tracks that belong together; the items are not placed yet. */
export interface PlacedTracks {
  task: string;
  device: string;
  /** Set of the user's own: the place among them. */
  own?: number;
  items: AnyTrackItem[];
}

/** The tracks that are not hidden and fit the words of the lanes' filter. */
export function shownTracks(
  { tracks, scale = 1, tensors, counters, bars = [], foldedBars }: TrackOptions,
  hidden: ReadonlySet<string>,
  words: readonly string[],
): PlacedTracks[] {
  const isShown = (key: string, track: { task: string; device: string }, name: string) =>
    !hidden.has(key) && matchesLane({ task: track.task, device: track.device, lane: name }, words);
  const curveHeight = Math.floor(TRACK_HEIGHT * scale);
  const highest = tracks.reduce((most, track) => Math.max(most, track.peak), 0);
  const memory = tracks.map((track) => {
    const isLow = track.peak < LOW_MEMORY_SHARE * highest;
    const key = (type: "memory" | "tensors") => trackKey(type, track, track.allocator);
    const shown = (type: "memory" | "tensors") => isShown(key(type), track, `${track.allocator} ${type}`);
    const items: AnyTrackItem[] = [];
    const height = isLow ? LOW_TRACK_HEIGHT : curveHeight;
    const place = { track, context: "", y: 0 };
    if (!track.estimated && shown("memory"))
      items.push({ type: "memory", key: key("memory"), height, ...place });
    const rows = shown("tensors") ? tensors(track) : null;
    if (rows) {
      const own = { tensors: rows, height: Math.max(rows.height, TRACK_HEIGHT) };
      items.push({ type: "tensors", key: key("tensors"), ...own, ...place });
    }
    return { task: track.task, device: track.device, items };
  });
  const counting = counters.map((track) => {
    const key = trackKey("counter", track, `${track.counter}\0${track.series}`);
    const item: CounterItem = { type: "counter", key, track, context: "", y: 0, height: curveHeight };
    const items = isShown(key, track, `${counterName(track)} counter`) ? [item] : [];
    return { task: track.task, device: track.device, own: track.own, items };
  });
  const own = bars.map((track) => {
    const key = trackKey("bars", NOWHERE, track.name);
    const one = foldedBars?.(key, track) ?? null;
    const rows = one ? [one] : track.rows;
    const height = Math.max(rows.length, 1) * BAR_ROW + 2 * BAR_PAD;
    const folding = { rows, depth: track.rows.length, folded: one !== null };
    const item: BarsItem = { type: "bars", key, track, ...folding, context: "", y: 0, height };
    return { ...NOWHERE, own: track.own, items: isShown(key, NOWHERE, track.name) ? [item] : [] };
  });
  return [...memory, ...counting, ...own].filter(({ items }) => items.length > 0);
}

/** The top of a row of own bars, from that of the track (CSS px). */
export const barTop = (row: number) => BAR_PAD + row * BAR_ROW;

/** Name of a track: its own, its allocator's or its counter's. */
export function trackName(item: AnyTrackItem): string {
  if (item.type === "bars") return item.track.name;
  return item.type === "counter" ? counterName(item.track) : item.track.allocator;
}

function trackKey(type: string, { task, device }: { task: string; device: string }, name: string): string {
  return `${type}\0${task}\0${device}\0${name}`;
}
