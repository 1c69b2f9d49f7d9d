/** Single events of a large trace: their bars and their details. */

import type { Drawn } from "../types";
import type { Entries } from "../wire/bars";
import type { Degree, Ends } from "../wire/dataflow";
import type { Details, DetailsView, Edge } from "../wire/details";
import { entryOfEvent, eventAt } from "./merged";

/** Numbers of a few events in the whole trace; one item per event. */
export interface WholeNumbers {
  events: number[];
  rows: number[];
  lanes: number[];
  names: number[];
  steps: number[];
  ops: number[];
  /** Around one event: how many edges end and begin in each. */
  degrees?: Degree[];
  /** By event id, the loaded events that read its outputs; if there are many, the last to end. */
  holders?: number[];
  /** One event only: how many events have its name, and their total time (ns). */
  same?: SameName;
}

export interface SameName {
  count: number;
  total: number;
}

/** The events of `drawn`, a trace of their own, as entries of the whole, whose times count from `originNs`. */
export function exactEntries(drawn: Drawn, numbers: WholeNumbers, originNs: bigint): Entries {
  const later = Number(drawn.originNs - originNs);
  const start = drawn.start.map((time) => time + later);
  const { duration } = drawn;
  const nameNumber = new Uint32Array(drawn.names.length);
  drawn.name.forEach((name, event) => {
    nameNumber[name] = numbers.names[event];
  });
  return {
    ...drawn,
    length: drawn.count,
    lane: Uint16Array.from(numbers.lanes),
    row: Uint32Array.from(numbers.rows),
    start,
    end: start.map((time, event) => time + duration[event]),
    busy: duration,
    count: new Uint32Array(drawn.count).fill(1),
    event: Uint32Array.from(numbers.events),
    begin: start,
    op: Uint32Array.from(numbers.ops),
    step: Uint32Array.from(numbers.steps),
    nameNumber,
    isMatch: null,
  };
}

/** The questions that one event answers. */
type Fact = {
  [F in keyof Details]: Details[F] extends (event: number) => unknown ? F : never;
}[keyof Details];

/** The details of a few events by their index in the current picture; other events have none. */
export class SparseDetails implements DetailsView {
  readonly #own: ReadonlyMap<number, number>;

  /**
   * `numbers` has the event id of each event that `details` has, `later` the nanoseconds from the origin of the
   * whole to theirs; `now` gives the current picture.
   */
  constructor(
    readonly details: Details,
    readonly numbers: Pick<WholeNumbers, "events" | "degrees" | "holders">,
    readonly later: number,
    readonly now: () => Drawn,
  ) {
    this.#own = new Map(numbers.events.map((event, own) => [event, own]));
  }

  get count(): number {
    return this.details.count;
  }

  get strings(): Details["strings"] {
    return this.details.strings;
  }

  get tensorIds(): Uint32Array {
    return this.details.tensorIds;
  }

  get labelIds(): Uint32Array {
    return this.details.labelIds;
  }

  readonly waiting = null;
  readonly overview = null;
  readonly stepBars = () => [];
  readonly tracks = [];
  readonly counters = [];
  readonly code = null;
  readonly stack = this.#alike("stack", []);
  readonly ownFrame = this.#alike("ownFrame", null);
  readonly phase = this.#alike("phase", "");
  readonly layer = this.#alike("layer", null);
  readonly moved = this.#alike("moved", null);
  readonly bytes = this.#alike("bytes", null);
  readonly ids = this.#alike("ids", []);
  readonly node = this.#alike("node", { placement: [], node: [], program: [], fused: [] });
  readonly source = this.#alike("source", null);
  readonly destination = this.#alike("destination", null);
  readonly tensor = this.#alike("tensor", "");
  readonly last = this.#alike("last", null);
  readonly spread = this.#alike("spread", null);
  readonly label = this.#alike("label", "");
  readonly outputs = this.#alike("outputs", []);
  readonly memory = this.#alike("memory", []);
  readonly referenced = this.#alike("referenced", []);
  readonly ownMemory = this.#alike("ownMemory", null);

  slack(): null {
    return null;
  }

  scheduled(entry: number): number | null {
    const time = this.#of(entry, (own) => this.details.scheduled(own), null);
    return time === null ? null : time + this.later;
  }

  recorded(entry: number): { start: number; duration: number } | null {
    const times = this.#of(entry, (own) => this.details.recorded(own), null);
    return times && { ...times, start: times.start + this.later };
  }

  compute(entry: number): { start: number; end: number } | null {
    const call = this.#of(entry, (own) => this.details.compute(own), null);
    return call && { start: call.start + this.later, end: call.end + this.later };
  }

  inputs(entry: number): Edge[] {
    return this.#of(entry, (own) => this.#here(this.details.inputs(own)), []);
  }

  consumers(entry: number): Edge[] {
    return this.#of(entry, (own) => this.#here(this.details.consumers(own)), []);
  }

  operands(entry: number): Ends {
    const { inputs, consumers } = this.#alike("operands", { inputs: [], consumers: [] })(entry);
    return { inputs: this.#here(inputs), consumers: this.#here(consumers) };
  }

  degree(entry: number): Degree | null {
    return this.#of(entry, (own) => this.numbers.degrees?.[own] ?? null, null);
  }

  knowsReaders(entry: number): boolean {
    return this.numbers.holders?.includes(eventAt(this.now(), entry)) ?? false;
  }

  /** A lookup whose answers need no translation. */
  #alike<F extends Fact>(fact: F, unknown: ReturnType<Details[F]>) {
    const look = (own: number) => this.details[fact](own) as ReturnType<Details[F]>;
    return (entry: number): ReturnType<Details[F]> => this.#of(entry, look, unknown);
  }

  #of<T>(entry: number, look: (own: number) => T, unknown: T): T {
    const own = this.#own.get(eventAt(this.now(), entry));
    return own === undefined ? unknown : look(own);
  }

  #here(edges: Edge[]): Edge[] {
    return edges.flatMap(({ event, kind }) => {
      const entry = entryOfEvent(this.now(), this.numbers.events[event]);
      return entry === null ? [] : [{ event: entry, kind }];
    });
  }
}
