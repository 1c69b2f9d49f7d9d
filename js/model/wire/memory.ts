/** How much memory each allocator had allocated over time, and what lay in it. */
import { firstAbove } from "../lod/bisect";
import { type Container, oneOf, type Strings } from "./container";

type Numbers = Uint32Array | Float64Array;

/** The memory of one allocator. Times are nanoseconds from the origin. */
export interface Track {
  task: string;
  /** Whose memory it is; "" when that has no lanes. */
  device: string;
  allocator: string;
  /** The most bytes allocated, and when first. */
  peak: number;
  at: number;
  /** When the allocated bytes change, and to how many. */
  times: Float64Array;
  levels: Numbers;
  /** Buffer by buffer, in the order of `starts`. */
  starts: Float64Array;
  /** In `unit`s, of so many nanoseconds. */
  lengths: Numbers;
  unit: number;
  sizes: Numbers;
  /** One more than the id of the event that allocated it; 0 where that is not here. */
  events: Numbers;
  /** What is in a buffer, by its place. */
  name(at: number): string;
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

/** The tracks that display/wire/memory.py wrote; none where nothing is known of memory. */
export function readTracks(container: Container, strings: Strings): Track[] {
  const tracks = (container.header.tracks ?? []) as (Track & { first: number })[];
  return tracks.map((track, number) => {
    const column = (name: string) =>
      oneOf(container, `track_${number}_${name}`, null, [Uint32Array, Float64Array]);
    const times = (gaps: Numbers) => {
      let time = track.first;
      return Float64Array.from(gaps, (gap) => (time += gap * track.unit));
    };
    return {
      ...track,
      times: times(column("gap")),
      levels: column("level"),
      starts: times(column("start_gap")),
      lengths: column("length"),
      sizes: column("bytes"),
      events: column("event"),
      name: (at: number) => strings.get(column("name")[at]),
    };
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
