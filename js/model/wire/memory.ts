/** How much memory each allocator had allocated over time, and what lay in it. */
import { firstAbove } from "../lod/bisect";
import type { StepLine } from "../types";
import { type Container, NUMBERS, oneOf, type Strings } from "./container";
import { signed } from "./row_order";
import type { DetailsHeader, MemoryHeader } from "./schema";

type Numbers = Uint32Array | Float64Array;

/** The memory of one allocator. Times are nanoseconds from the origin. */
export interface Track extends StepLine, Omit<MemoryHeader, "first" | "buffers"> {
  /** Buffer by buffer, in the order of `starts`. */
  starts: Float64Array;
  /** In `unit`s. */
  lengths: Numbers;
  sizes: Numbers;
  /** The part of each size that its op did not request; 0 where that is not known. */
  excess: Numbers;
  /** One more than the id of the event that allocated it; 0 where that is not here. */
  events: Numbers;
  /** The content of a buffer, by its index. */
  name(at: number): string;
  role(at: number): Role;
  /** Whether nothing freed it during the recording; then its length ends with the recording. */
  outlives(at: number): boolean;
  /** The other outputs that it was handed on to. */
  aliases(at: number): Alias[];
}

/** Role of a buffer for the op that allocated it; same as ROLES of analysis/memory/tensor_lifetimes.py. */
const ROLES = ["output", "temporary", "kept", "allocated"] as const;
export type Role = (typeof ROLES)[number];

/** An output of an event, by its id. */
export interface Alias {
  event: number;
  slot: number;
}

/** A track, and a time in nanoseconds from the origin. */
export interface Moment {
  track: Track;
  time: number;
}

/** What display/shaping/side.py calls an allocator of a task. */
export function memoryKey({ task, allocator }: Pick<Track, "task" | "allocator">): string {
  return `${task}\t${allocator}`;
}

/** The tracks in a container; none where nothing is known of memory. */
export function readTracks(container: Container, strings: Strings): Track[] {
  const { tracks = [] } = container.header as Partial<DetailsHeader>;
  return tracks.map((track, number) => {
    const column = (name: string) => oneOf(container, `track_${number}_${name}`, null, NUMBERS);
    const times = (gaps: Numbers) => {
      let time = track.first;
      return Float64Array.from(gaps, (gap) => (time += gap * track.unit));
    };
    const states = oneOf(container, `track_${number}_state`, null, [Uint8Array]);
    const aliases = readAliases(container, number);
    return {
      ...track,
      times: times(column("gap")),
      levels: column("level"),
      starts: times(column("start_gap")),
      lengths: column("length"),
      sizes: column("bytes"),
      excess: column("excess"),
      events: column("event"),
      name: (at: number) => strings.get(column("name")[at]),
      role: (at: number) => ROLES[states[at] % ROLES.length],
      outlives: (at: number) => states[at] >= ROLES.length,
      aliases: (at: number) => aliases(at, column("event")[at] - 1),
    };
  });
}

/** Finds the aliases of a buffer of a track, by its index and its event. */
function readAliases(container: Container, track: number): (at: number, event: number) => Alias[] {
  const column = (name: string) => oneOf(container, `track_${track}_alias_${name}`, null, NUMBERS);
  if (!container.column(`track_${track}_alias_count`)) return () => [];
  let sum = 0;
  const ends = Float64Array.from(column("count"), (count) => (sum += count));
  return (at, event) =>
    Array.from({ length: column("count")[at] }, (_, index) => {
      const place = ends[at] - column("count")[at] + index;
      return { event: event + signed(column("distance"), place), slot: column("slot")[place] };
    });
}

/** Bytes allocated at a time. */
export function levelAt({ times, levels }: Track, time: number): number {
  return levels[firstAbove(times, time) - 1] ?? 0;
}

/** The places of the buffers that are allocated at a time, the largest first. */
export function aliveAt({ starts, lengths, unit, sizes }: Track, time: number): number[] {
  const alive: number[] = [];
  for (let at = 0; starts[at] <= time; at++) if (time < starts[at] + lengths[at] * unit) alive.push(at);
  return alive.sort((a, b) => sizes[b] - sizes[a]);
}
