/** Values over time of a device or a process: counters, and how full buffers are. */
import { firstAbove } from "../lod/bisect";
import type { StepLine } from "../types";
import { type Container, NUMBERS, oneOf } from "./container";
import type { CounterFigures, CounterHeader, DetailsHeader } from "./schema";

/** Values over time, thinned without changing the drawn line. */
interface CounterLine extends StepLine {
  reduced?: boolean;
}

/** A series of a counter. Times are nanoseconds from the origin. */
export interface CounterTrack extends CounterLine, Omit<CounterHeader, "first" | "reduced"> {
  /** Set of the values of a track of the user's own: its place among them. */
  own?: number;
  /** How many series come after the last track. */
  unsent?: number;
  /** More of the values of a part of the run. */
  part?: CounterLine & { start: number; end: number };
}

/** The tracks in a container; none without counters. */
export function readCounters(container: Container): CounterTrack[] {
  const { counters: tracks = [], counters_unsent: unsent = 0 } = container.header as Partial<DetailsHeader>;
  return tracks.map((track, number) => {
    const column = (name: string) => oneOf(container, `counter_${number}_${name}`, null, NUMBERS);
    let time = track.first;
    const times = Float64Array.from(column("gap"), (gap) => (time += gap));
    const isLast = number === tracks.length - 1;
    return { ...track, times, levels: column("level"), ...(isLast && unsent > 0 && { unsent }) };
  });
}

/** Tracks with the values that `parts` has of them from `start` to `end`. */
export function withParts(
  tracks: readonly CounterTrack[],
  parts: readonly CounterTrack[],
  start: number,
  end: number,
): CounterTrack[] {
  return tracks.map((track, number) => ({ ...track, part: { ...parts[number], start, end } }));
}

/** The most detailed data of a track between two times. */
export function lineIn(track: CounterTrack, start: number, end: number): CounterLine {
  const { part } = track;
  return part && part.start <= Math.max(start, 0) && end <= part.end ? part : track;
}

/** The value at a time; NaN before the first one. */
export function valueAt({ times, levels }: StepLine, time: number): number {
  return levels[firstAbove(times, time) - 1] ?? Number.NaN;
}

/** The figures of a track from `start` to `end`, null if it has no value by then. */
export function counterFigures(
  { times, levels }: StepLine,
  start: number,
  end: number,
): CounterFigures | null {
  let at = Math.max(firstAbove(times, start) - 1, 0);
  if (!(times[at] <= end)) return null;
  const from = Math.max(times[at], start);
  const figures = { least: levels[at], mean: 0, most: levels[at] };
  for (let reached = from; ; at++) {
    const next = Math.min(times[at + 1] ?? Number.POSITIVE_INFINITY, end);
    const level = levels[at];
    figures.least = Math.min(figures.least, level);
    figures.most = Math.max(figures.most, level);
    figures.mean += end > from ? level * ((next - reached) / (end - from)) : 0;
    reached = next;
    if (!(times[at + 1] <= end)) break;
  }
  if (end <= from) figures.mean = levels[at];
  return figures;
}

/** Name of a series: its counter, and its own name if that is more specific. */
export function counterName({ counter, series }: Pick<CounterTrack, "counter" | "series">): string {
  // For a stage of tf.data (see analysis/time_series.py) the last part is the most specific.
  if (counter === "tf.data buffer") return `${series.slice(series.lastIndexOf(":") + 1)} buffer`;
  if (!series || series === counter || series === "value") return counter || "counter";
  return counter ? `${counter} ${series}` : series;
}
