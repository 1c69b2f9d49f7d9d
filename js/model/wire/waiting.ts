/** What steps and devices waited for: the pieces of critical paths, and why devices were idle. */
import { firstAtLeast } from "../lod/bisect";
import type { Drawn, Lane } from "../types";
import { type Container, NUMBERS, oneOf } from "./container";
import { signed } from "./row_order";
import type { WaitingHeader } from "./schema";

/** Stretches of time (ns from the origin), one after the other. */
export interface Pieces {
  start: Float64Array;
  end: Float64Array;
  /** The running or next event by id; -1 if not loaded. */
  event: Int32Array;
  /** Index in `kinds`. */
  kind: Uint8Array;
  /** Each with its definition. */
  kinds: readonly [name: string, definition: string][];
}

/** How long pieces of one kind took, and which they are, the longest first. */
export interface Sum {
  kind: number;
  total: number;
  pieces: number[];
}

/** Lanes on which a device's own doing is, by their kind. */
const ACCELERATED = /^(kernel|mem)/;
const HOSTED = /^(op|host)/;

export class Waiting {
  /** Paths step by step, in order of time; null without any. */
  readonly path: Pieces | null;
  /** Kinds of pieces of a path below this are the running of their event. */
  readonly runs: number;
  /** Idle time, device by device. */
  readonly idle: Pieces | null;
  readonly #devices: readonly [task: string, device: string][];
  readonly #deviceOf: Uint16Array;

  /** `rows` has the row of each event in the columns. */
  constructor(container: Container, rows: Uint32Array) {
    const header = container.header as WaitingHeader;
    const event = new Int32Array(rows.length);
    for (let id = 0; id < rows.length; id++) event[rows[id]] = id;
    this.path = pieces(container, "path", event, header.path);
    this.runs = header.path_runs ?? 0;
    this.idle = pieces(container, "idle", event, header.idle);
    this.#devices = header.idle_places ?? [];
    this.#deviceOf = this.idle ? oneOf(container, "idle_place", null, [Uint16Array]) : new Uint16Array(0);
  }

  /** 1 for each event that ran on a critical path. */
  onPath(count: number): Uint8Array {
    const mask = new Uint8Array(count);
    this.path?.event.forEach((event, at) => {
      if (event >= 0 && this.path && this.path.kind[at] < this.runs) mask[event] = 1;
    });
    return mask;
  }

  /** Returns a test whether a piece of idle time belongs to the device of one of `lanes`. */
  isOf(lanes: readonly Lane[]): (at: number) => boolean {
    const isOf = this.#areOf(lanes);
    return (at) => isOf[this.#deviceOf[at]];
  }

  /** The devices of `lanes` whose idle time is known. */
  devicesOf(lanes: readonly Lane[]): [task: string, device: string][] {
    const areOf = this.#areOf(lanes);
    return this.#devices.filter((_, at) => areOf[at]);
  }

  #areOf(lanes: readonly Lane[]): boolean[] {
    return this.#devices.map(([task, device]) => {
      const own = /CPU:\d+$/.test(device) ? HOSTED : ACCELERATED;
      return lanes.some((lane) => lane.task === task && lane.device === device && own.test(lane.kind));
    });
  }

  /** The whole idle gap of a lane's device around a time; null if the device is busy or unknown. */
  stretch(lane: Lane, time: number): { start: number; end: number } | null {
    const { idle } = this;
    if (!idle) return null;
    const isOf = this.isOf([lane]);
    const at = idle.start.findIndex((start, each) => start <= time && idle.end[each] > time && isOf(each));
    if (at < 0) return null;
    let first = at;
    while (first > 0 && idle.end[first - 1] === idle.start[first]) first--;
    return { start: idle.start[first], end: stretchEnd(idle, at) };
  }

  /** The device's event that ends the idle stretch of a piece; -1 without one. */
  endedBy(at: number, { start, lane, lanes }: Drawn): number {
    const end = this.idle ? stretchEnd(this.idle, at) : Number.NaN;
    for (let id = firstAtLeast(start, end); start[id] === end; id++)
      if (this.isOf([lanes[lane[id]]])(at)) return id;
    return -1;
  }
}

function stretchEnd({ start, end }: Pieces, at: number): number {
  let last = at;
  while (start[last + 1] === end[last]) last++;
  return end[last];
}

/** Sums of the pieces between two times, the longest first; only pieces that pass `isCounted`. */
export function sums(
  { start, end, kind, kinds }: Pieces,
  from: number,
  to: number,
  isCounted: (at: number) => boolean = () => true,
): Sum[] {
  const found: Sum[] = kinds.map((_, number) => ({ kind: number, total: 0, pieces: [] }));
  const length = (at: number) => Math.min(end[at], to) - Math.max(start[at], from);
  for (let at = 0; at < start.length; at++) {
    if (start[at] >= to || end[at] <= from || !isCounted(at)) continue;
    found[kind[at]].total += length(at);
    found[kind[at]].pieces.push(at);
  }
  for (const { pieces } of found) pieces.sort((a, b) => length(b) - length(a));
  return found.filter(({ pieces }) => pieces.length).sort((a, b) => b.total - a.total);
}

function pieces(
  container: Container,
  name: string,
  event: Int32Array,
  kinds: Pieces["kinds"] | undefined,
): Pieces | null {
  if (!kinds) return null;
  const column = (part: string) => oneOf(container, `${name}_${part}`, null, NUMBERS);
  const [gap, length, row] = [column("gap"), column("length"), column("row")];
  const start = new Float64Array(length.length);
  const end = new Float64Array(length.length);
  const events = new Int32Array(length.length);
  let time = 0;
  let at = 0;
  for (let piece = 0; piece < length.length; piece++) {
    start[piece] = time + signed(gap, piece);
    time = end[piece] = start[piece] + length[piece];
    at += signed(row, piece);
    events[piece] = event[at] ?? -1;
  }
  return { start, end, event: events, kind: oneOf(container, `${name}_kind`, null, [Uint8Array]), kinds };
}
