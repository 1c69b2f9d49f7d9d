/** Tracks of the user's own, as display/shaping/tracks.py writes them: bars, or values over time. */

import { foldRows, MOST_ROWS } from "../lod/folded";
import { SHADES } from "../paint/palette";
import { plainTest } from "../search/plain_text";
import type { Row } from "../types";
import type { CounterTrack } from "./counters";
import { digitlessHash } from "./string_table";

interface Values {
  name: string;
  unit: string;
  /** Times in nanoseconds from the origin, in their order. */
  times: number[];
  values: number[];
}

interface Bars {
  name: string;
  starts: number[];
  lengths: number[];
  names: string[];
  rows: number[];
}

export type OwnTrack = Values | Bars;

export interface OwnBars extends Omit<Bars, "rows"> {
  /** Its place among the user's own tracks. */
  own: number;
  rows: Row[];
  /** Of each bar. */
  shade: Uint8Array;
}

/** One bar of a track. */
export interface OwnBar {
  track: OwnBars;
  at: number;
}

const read = new WeakMap<readonly OwnTrack[], { counters: CounterTrack[]; bars: OwnBars[] }>();

/** The tracks in the form in which they are drawn. */
export function ownTracks(tracks: readonly OwnTrack[]): { counters: CounterTrack[]; bars: OwnBars[] } {
  let found = read.get(tracks);
  if (!found) {
    found = { counters: [], bars: [] };
    for (const [own, track] of tracks.entries())
      if ("times" in track) found.counters.push(counterOf(track, own));
      else found.bars.push(barsOf(track, own));
    read.set(tracks, found);
  }
  return found;
}

function counterOf({ name, unit, times, values }: Values, own: number): CounterTrack {
  const [least, most] = [Math.min, Math.max].map((pick) =>
    values.reduce((a, b) => pick(a, b), values[0] ?? 0),
  );
  return {
    ...{ task: "", device: "", counter: name, series: "", own, unit, least, most },
    at: times[values.indexOf(most)] ?? 0,
    times: Float64Array.from(times),
    levels: Float64Array.from(values),
  };
}

function barsOf(track: Bars, place: number): OwnBars {
  const { starts, lengths, names } = track;
  const ids: number[][] = [];
  track.rows.forEach((row, at) => {
    ids[row] ??= [];
    ids[row].push(at);
  });
  const rows = ids.map((own, index) => ({
    lane: -1,
    index,
    ids: Uint32Array.from(own),
    start: Float64Array.from(own, (at) => starts[at]),
    end: Float64Array.from(own, (at) => starts[at] + lengths[at]),
  }));
  return {
    ...track,
    own: place,
    rows,
    shade: Uint8Array.from(names, (name) => digitlessHash(name) % SHADES),
  };
}

const folded = new WeakMap<OwnBars, Row>();

/** The one row of a track that is folded, by the user's choice or because it has many rows; else null. */
export function foldedBars(track: OwnBars, isChosen: boolean | undefined): Row | null {
  const { length } = track.rows;
  return length > 1 && (isChosen ?? length > MOST_ROWS) ? wholeRow(track) : null;
}

/** One row in place of all rows of a track, which has at least one. */
export function wholeRow(track: OwnBars): Row {
  const row = folded.get(track) ?? foldRows(track.rows);
  folded.set(track, row);
  return row;
}

/** The bars whose name, or whose track's, fits a search, by track. */
export function barsWith(bars: readonly OwnBars[], query: string): OwnBar[] {
  const has = plainTest(query);
  return bars.flatMap((track) =>
    track.names.flatMap((name, at) => (has(`${track.name}\n${name}`) ? [{ track, at }] : [])),
  );
}
