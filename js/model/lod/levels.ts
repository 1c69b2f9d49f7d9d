/** Level of detail: coarser copies of a row, so that drawing costs by the pixel and not by the event. */

import type { Row } from "../types";
/**
 * The events of a row with neighbours merged that start in the same bucket (a
 * multiple of `bucket` ns) and are all shorter than it. Entries are ordered by
 * start and do not overlap; an entry with `count` 1 is a single event.
 */
export interface Level {
  /** Start of the first, end of the last event merged (ns). */
  start: Float64Array;
  end: Float64Array;
  /** Summed duration of the events merged (ns). */
  busy: Float64Array;
  /** Duration of the longest event merged (ns), and its index in the row. */
  peak: Float64Array;
  longest: Uint32Array;
  count: Uint32Array;
  /** Width of the buckets in ns; 1 is the events themselves. */
  bucket: number;
  length: number;
}

/** Levels 4^0 to 4^16 ns: beyond 4 s a pixel, the coarsest serves. */
const COARSEST = 16;
const POWERS = Float64Array.from({ length: COARSEST + 2 }, (_, k) => 4 ** k);
/** Exact, as powers of 2 are, and faster than dividing. */
const PARTS = POWERS.map((power) => 1 / power);
/** A level is worth its memory only if it is this much shorter than the one below. */
const SHRINK = 0.5;

/** The levels of one row, each made when it is first drawn. */
export class RowLevels {
  readonly #lengths: Float64Array;
  readonly #built: (Level | undefined)[];
  /** For each power of 4, the level that stands for it. */
  readonly #level: number[] = [0];
  /** Whether any event lasts; the others are marks, such as allocations. */
  readonly haveLengths: boolean;

  constructor(row: Row) {
    const lengths = levelLengths(row);
    this.#lengths = lengths;
    let kept = 0;
    for (let k = 1; k <= COARSEST; k++) {
      if (lengths[k] <= SHRINK * lengths[kept]) kept = k;
      this.#level.push(kept);
    }
    const events = eventLevel(row);
    this.#built = [events];
    this.haveLengths = events.busy.some((busy) => busy > 0);
  }

  /** The coarsest level whose buckets are no wider than a pixel, or a finer one that is hardly longer. */
  at(nsPerPixel: number): Level {
    let power = 0;
    for (let bucket = 4; bucket <= nsPerPixel && power < COARSEST; bucket *= 4) power++;
    const wanted = this.#level[power];
    let level = this.#built[wanted];
    if (level === undefined) {
      // Merging depends on the events only, so any finer level will do to start from.
      level = merge(this.#nearestBelow(wanted), POWERS[wanted], this.#lengths[wanted]);
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
  if (row.merged)
    return {
      ...row.merged,
      start: row.start,
      end: row.end,
      longest: places.upTo(length),
      bucket: 1,
      length,
    };
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
function levelLengths({ start, end }: Row): Float64Array {
  const merges = new Float64Array(COARSEST + 2);
  let length = start.length > 0 ? end[0] - start[0] : 0;
  for (let i = 1; i < start.length; i++) {
    const before = length;
    length = end[i] - start[i];
    const longest = Math.max(start[i] - start[i - 1], before, length);
    merges[mergingPower(start[i - 1], start[i], longest)]++;
  }
  const lengths = new Float64Array(COARSEST + 1);
  let merged = 0;
  for (let k = 0; k <= COARSEST; k++) {
    merged += merges[k];
    lengths[k] = start.length - merged;
  }
  return lengths;
}

/** The smallest power of 4 above `longest` ns whose buckets hold both starts in one; COARSEST + 1 if none does. */
function mergingPower(before: number, start: number, longest: number): number {
  if (longest >= POWERS[COARSEST]) return COARSEST + 1;
  let k = longest < 0x80000000 ? (33 - Math.clz32(longest)) >> 1 : COARSEST;
  while (k <= COARSEST && Math.floor(start * PARTS[k]) !== Math.floor(before * PARTS[k])) k++;
  return k;
}

function merge(below: Level, bucket: number, length: number): Level {
  const start = new Float64Array(length);
  const end = new Float64Array(length);
  const busy = new Float64Array(length);
  const peak = new Float64Array(length);
  const longest = new Uint32Array(length);
  const count = new Uint32Array(length);
  const part = 1 / bucket;
  let last = -1;
  let open = Number.NaN; // the bucket the last entry can still take events of
  for (let i = 0; i < below.length; i++) {
    // A merged entry of a finer bucket spans less than two of those, and so is always short here.
    const small = below.end[i] - below.start[i] < bucket;
    const place = small ? Math.floor(below.start[i] * part) : Number.NaN;
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
  return { start, end, busy, peak, longest, count, bucket, length };
}
