/** Who waited for whom: the edges between events, from either end. */
import { type Container, NUMBERS, oneOf } from "./container";
import { signed } from "./row_order";

export const KINDS = ["data", "control", "transfer", "launch", "flow", "operand"] as const;

export type EdgeKind = (typeof KINDS)[number];

/** The kinds by how closely they tie two events. */
export const STRONGEST_FIRST: readonly EdgeKind[] = [
  "transfer",
  "launch",
  "data",
  "operand",
  "flow",
  "control",
];

/** How many edges end and begin in an event. */
export interface Degree {
  inputs: number;
  consumers: number;
}

/** The event at the other end of an edge. */
export interface Edge {
  event: number;
  kind: EdgeKind;
}

/** The edges that end and begin in an event. */
export interface Ends {
  inputs: Edge[];
  consumers: Edge[];
}

interface Outgoing {
  offsets: Uint32Array;
  target: Uint32Array;
  kind: Uint8Array;
}

/**
 * Incoming edges of event `i` are places `offsets[i]` to `offsets[i + 1]` of
 * `source` (event ids) and `kind`. The opposite table is made on first use.
 */
export class Dataflow {
  readonly #offsets: Uint32Array;
  readonly #source: Uint32Array;
  readonly #kind: Uint8Array;
  #outgoing: Outgoing | null = null;

  constructor(offsets: Uint32Array, source: Uint32Array, kind: Uint8Array) {
    const edges = offsets[offsets.length - 1] ?? 0;
    if (source.length !== edges || kind.length !== edges) {
      throw new Error(`the trace data has ${source.length} edge sources for ${edges} edges`);
    }
    this.#offsets = offsets;
    this.#source = source;
    this.#kind = kind;
  }

  /** The edges that end in the event. */
  inputs(event: number): Edge[] {
    return slice(this.#offsets, this.#source, this.#kind, event);
  }

  /** The edges that begin in the event. */
  consumers(event: number): Edge[] {
    this.#outgoing ??= reverse(this.#offsets, this.#source, this.#kind);
    return slice(this.#outgoing.offsets, this.#outgoing.target, this.#outgoing.kind, event);
  }

  degree(event: number): Degree {
    this.#outgoing ??= reverse(this.#offsets, this.#source, this.#kind);
    const { offsets } = this.#outgoing;
    return {
      inputs: this.#offsets[event + 1] - this.#offsets[event],
      consumers: offsets[event + 1] - offsets[event],
    };
  }
}

/** The edges by event id; Python sends the rows they end in and how many rows before those they begin. */
export function readDataflow(container: Container, rows: Uint32Array): Dataflow {
  return readLinks(container, rows, "edge", (edges) => oneOf(container, "edge_kind", edges, [Uint8Array]));
}

/** From the events that made the operands of an instruction to the one that ran it; null if unknown. */
export function readOperands(container: Container, rows: Uint32Array): Dataflow | null {
  if (!container.column("operand_distance")) return null;
  return readLinks(container, rows, "operand", (edges) =>
    new Uint8Array(edges).fill(KINDS.indexOf("operand")),
  );
}

function readLinks(
  container: Container,
  rows: Uint32Array,
  name: string,
  kindsOf: (edges: number) => Uint8Array,
): Dataflow {
  const offsets = oneOf(container, `${name}_offsets`, rows.length + 1, [Uint32Array]);
  const distance = oneOf(container, `${name}_distance`, null, NUMBERS);
  const kind = kindsOf(distance.length);
  const event = new Uint32Array(rows.length);
  for (let id = 0; id < rows.length; id++) event[rows[id]] = id;
  const ends = new Uint32Array(rows.length + 1);
  const source = new Uint32Array(distance.length);
  const kinds = new Uint8Array(distance.length);
  let position = 0;
  for (let id = 0; id < rows.length; id++) {
    const row = rows[id];
    for (let at = offsets[row]; at < offsets[row + 1]; at++) {
      const from = row - signed(distance, at);
      if (!(from >= 0 && from < rows.length))
        throw new Error(`an edge of event ${id} begins outside of the trace`);
      source[position] = event[from];
      kinds[position++] = kind[at];
    }
    ends[id + 1] = position;
  }
  return new Dataflow(ends, source, kinds);
}

function slice(offsets: Uint32Array, other: Uint32Array, kind: Uint8Array, event: number): Edge[] {
  const edges: Edge[] = [];
  for (let at = offsets[event]; at < offsets[event + 1]; at++) {
    edges.push({ event: other[at], kind: KINDS[kind[at]] ?? "data" });
  }
  return edges;
}

function reverse(offsets: Uint32Array, source: Uint32Array, kind: Uint8Array): Outgoing {
  const events = offsets.length - 1;
  const ends = new Uint32Array(events + 1);
  for (let at = 0; at < source.length; at++) ends[source[at] + 1]++;
  for (let event = 0; event < events; event++) ends[event + 1] += ends[event];
  const next = ends.slice();
  const target = new Uint32Array(source.length);
  const kinds = new Uint8Array(source.length);
  for (let event = 0; event < events; event++) {
    for (let at = offsets[event]; at < offsets[event + 1]; at++) {
      const position = next[source[at]]++;
      target[position] = event;
      kinds[position] = kind[at];
    }
  }
  return { offsets: ends, target, kind: kinds };
}
