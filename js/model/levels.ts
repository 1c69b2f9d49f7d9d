/** Level of detail: coarser copies of a row, so that drawing costs by the pixel and not by the event. */
import type { Row } from "./rows";

/**
 * The events of a row with neighbours merged that start in the same bucket (a
 * multiple of `bucket` ns) and are all shorter than it. Entries are ordered by
 * start and do not overlap; an entry with `count` 1 is an event as it is.
 */
export interface Level {
  /** Start of the first, end of the last event merged (ns). */
  start: Float64Array;
  end: Float64Array;
  /** Summed duration of the events merged (ns). */
  busy: Float64Array;
  /** Duration of the longest event merged (ns), and its place in the row. */
  peak: Float64Array;
  longest: Uint32Array;
  count: Uint32Array;
  /** Width of the buckets in ns; 1 is the events themselves. */
  bucket: number;
  length: number;
}

/** Levels 4^0 to 4^16 ns: beyond 4 s a pixel, the coarsest serves. */
const COARSEST = 16;
/** A level is worth its memory only if it is this much shorter than the one below. */
const SHRINK = 0.7;

/** The levels of one row, each made when it is first drawn. */
export class RowLevels {
  readonly #built: (Level | undefined)[];
  /** For each power of 4, the level that stands for it. */
  readonly #level: number[] = [0];

  constructor(row: Row) {
    const lengths = levelLengths(row);
    let kept = 0;
    for (let k = 1; k <= COARSEST; k++) {
      if (lengths[k] <= SHRINK * lengths[kept]) kept = k;
      this.#level.push(kept);
    }
    this.#built = [eventLevel(row)];
  }

  /** The coarsest level whose buckets are no wider than a pixel, or a finer one that is hardly longer. */
  at(nsPerPixel: number): Level {
    let power = 0;
    for (let bucket = 4; bucket <= nsPerPixel && power < COARSEST; bucket *= 4) power++;
    const wanted = this.#level[power];
    let level = this.#built[wanted];
    if (level === undefined) {
      // What is merged depends on the events only, so any finer level will do to start from.
      level = merge(this.#nearestBelow(wanted), 4 ** wanted);
      this.#built[wanted] = level;
    }
    return level;
  }

  #nearestBelow(wanted: number): Level {
    for (let k = wanted - 1; k > 0; k--) {
      const level = this.#built[k];
      if (level !== undefined) return level;
    }
    return this.#built[0] as Level;
  }
}

function eventLevel(row: Row): Level {
  const length = row.ids.length;
  const busy = new Float64Array(length);
  for (let i = 0; i < length; i++) busy[i] = row.end[i] - row.start[i];
  return {
    start: row.start,
    end: row.end,
    busy,
    peak: busy,
    longest: places.upTo(length),
    count: ones.upTo(length),
    bucket: 1,
    length,
  };
}

/** A column that is the same for every row; as long as the longest row yet. */
class Shared {
  #items = new Uint32Array(0);
  readonly #item: (place: number) => number;

  constructor(item: (place: number) => number) {
    this.#item = item;
  }

  upTo(length: number): Uint32Array {
    if (this.#items.length < length) {
      this.#items = new Uint32Array(length);
      for (let i = 0; i < length; i++) this.#items[i] = this.#item(i);
    }
    return this.#items.subarray(0, length);
  }
}

const places = new Shared((place) => place);
const ones = new Shared(() => 1);

/** How many entries the level of each power of 4 has, counted in one pass over neighbours. */
function levelLengths(row: Row): Float64Array {
  const { start, end } = row;
  const length = row.ids.length;
  const merges = new Float64Array(COARSEST + 2);
  for (let i = 1; i < length; i++) {
    const gap = start[i] - start[i - 1];
    const longer = Math.max(gap, end[i - 1] - start[i - 1], end[i] - start[i]);
    let k = COARSEST;
    if (longer < 0x80000000) {
      // 4^k is the first power of 4 above `longer`; neighbours can still lie across a bucket's edge.
      k = (33 - Math.clz32(longer)) >> 1;
      while (k <= COARSEST && Math.floor(start[i] / 4 ** k) !== Math.floor(start[i - 1] / 4 ** k)) k++;
    } else if (longer >= 4 ** COARSEST || !sameBucket(start[i - 1], start[i])) k++;
    merges[k]++;
  }
  const lengths = new Float64Array(COARSEST + 1);
  let merged = 0;
  for (let k = 0; k <= COARSEST; k++) {
    merged += merges[k];
    lengths[k] = length - merged;
  }
  return lengths;
}

function sameBucket(one: number, other: number): boolean {
  return Math.floor(one / 4 ** COARSEST) === Math.floor(other / 4 ** COARSEST);
}

function merge(below: Level, bucket: number): Level {
  const start = new Float64Array(below.length);
  const end = new Float64Array(below.length);
  const busy = new Float64Array(below.length);
  const peak = new Float64Array(below.length);
  const longest = new Uint32Array(below.length);
  const count = new Uint32Array(below.length);
  let last = -1;
  let open = Number.NaN; // the bucket the last entry can still take events of
  for (let i = 0; i < below.length; i++) {
    // An entry that was merged before holds only events shorter than a finer bucket.
    const small = below.count[i] > 1 || below.busy[i] < bucket;
    const place = small ? Math.floor(below.start[i] / bucket) : Number.NaN;
    if (place === open) {
      end[last] = below.end[i];
      busy[last] += below.busy[i];
      count[last] += below.count[i];
      if (below.peak[i] > peak[last]) {
        peak[last] = below.peak[i];
        longest[last] = below.longest[i];
      }
      continue;
    }
    last++;
    open = place;
    start[last] = below.start[i];
    end[last] = below.end[i];
    busy[last] = below.busy[i];
    peak[last] = below.peak[i];
    longest[last] = below.longest[i];
    count[last] = below.count[i];
  }
  const length = last + 1;
  return {
    start: start.slice(0, length),
    end: end.slice(0, length),
    busy: busy.slice(0, length),
    peak: peak.slice(0, length),
    longest: longest.slice(0, length),
    count: count.slice(0, length),
    bucket,
    length,
  };
}
