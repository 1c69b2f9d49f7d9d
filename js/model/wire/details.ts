/** The part of a trace that is looked up when asked for: times apart, tensors, inputs, memory. */

import type { Drawn } from "../types";
import { type Code, type Frame, readCode } from "./code";
import { type Container, oneOf, openContainer, type Strings, stringsIn } from "./container";
import { type CounterTrack, readCounters } from "./counters";
import { type Dataflow, type Degree, type Edge, type Ends, readDataflow, readOperands } from "./dataflow";
import { readTracks, type Track } from "./memory";
import { type NodeFacts, nodeFacts } from "./node_facts";
import { type Memory, type Output, type OwnMemory, Records, type Referenced } from "./records";
import { byEvent, wireRows } from "./row_order";
import type { DetailsHeader, Overview, StepBar, StepPartsHeader } from "./schema";
import { Waiting } from "./waiting";

export type { Edge, EdgeKind } from "./dataflow";

const NO_DEVICE = 0xffff;
const NO_TASK = 0xffff;

/** Unpack the `details` container of the trace that is drawn; rejects with a readable Error. */
export async function readDetails(gzip: Uint8Array, drawn: Drawn): Promise<Details> {
  return new Details(await openContainer(gzip), drawn);
}

/** Questions that details can answer, wherever they are. */
export type DetailsView = Pick<Details, keyof Details>;

/** Answers by event id. Times are nanoseconds from the origin; null means not recorded. */
export class Details {
  readonly count: number;
  /** The texts of `tensorIds` and of the labels. */
  readonly strings: Strings;
  /** Text number of each event's tensor name. */
  readonly tensorIds: Uint32Array;
  /** Text number of each event's label, in which the event's own name may be left out. */
  readonly labelIds: Uint32Array;
  /** The memory of each allocator. */
  readonly tracks: Track[];
  readonly counters: CounterTrack[];
  /** The user's code; null if none was recorded, or if only parts of the trace are loaded. */
  readonly code: Code | null;
  readonly #container: Container;
  readonly #header: DetailsHeader;
  readonly #drawn: Drawn;
  /** The row of each event in the columns. */
  readonly #rows: Uint32Array;
  readonly #flow: Dataflow;
  readonly #operands: Dataflow | null;
  readonly #records: Records;
  #waiting: Waiting | null = null;

  constructor(container: Container, drawn: Drawn) {
    this.#container = container;
    this.#drawn = drawn;
    this.#header = container.header as unknown as DetailsHeader;
    this.count = this.#header.count;
    if (this.count !== drawn.count) {
      throw new Error(`the details are of ${this.count} events, but ${drawn.count} are drawn`);
    }
    this.#rows = wireRows(drawn.lane, drawn.lanes.length);
    this.strings = stringsIn(container);
    this.#records = new Records(container, this.#header, this.strings);
    this.tensorIds = byEvent(oneOf(container, "tensor", this.count, [Uint32Array]), this.#rows);
    this.labelIds = byEvent(oneOf(container, "detail", this.count, [Uint32Array]), this.#rows);
    this.#flow = readDataflow(container, this.#rows);
    this.#operands = readOperands(container, this.#rows);
    this.tracks = readTracks(container, this.strings);
    this.counters = readCounters(container);
    this.code = readCode(container, this.strings);
  }

  /** The overview of the trace; null if only parts of it are here. */
  get overview(): Overview | null {
    return this.#header.overview ?? null;
  }

  /** Bars of a step by its number, one per task; empty if only parts of the trace are here. */
  stepBars(step: number): StepBar[] {
    const { parts, parts_tasks: tasks = [] } = this.#container.header as StepPartsHeader;
    if (!parts) return [];
    const steps = oneOf(this.#container, "parts_step", null, [Float64Array]);
    const task = oneOf(this.#container, "parts_task", steps.length, [Uint16Array]);
    const total = oneOf(this.#container, "parts_total", steps.length, [Float64Array]);
    const times = oneOf(this.#container, "parts_ns", steps.length * parts.length, [Float64Array]);
    const bars: StepBar[] = [];
    steps.forEach((number, row) => {
      if (number !== step || total[row] === 0) return;
      const found = parts.map((name, at) => {
        const ns = times[row * parts.length + at];
        return { name, ns, share: ns / total[row] };
      });
      const label = ["Step by main activity", tasks[task[row]]].filter(Boolean).join(", ");
      bars.push({ label, parts: found.filter(({ ns }) => ns > 0) });
    });
    return bars;
  }

  /** What steps and devices waited for; null where only parts of the trace are here. */
  get waiting(): Waiting | null {
    this.#waiting ??= new Waiting(this.#container, this.#rows);
    return this.#waiting;
  }

  /** How much later the event could have ended without its step becoming longer. */
  slack(event: number): number | null {
    return this.#number("slack", this.#rows[event]);
  }

  /** When the event became ready or was launched. */
  scheduled(event: number): number | null {
    const queued = this.#number("queued", this.#rows[event]);
    return queued === null ? null : this.#drawn.start[event] - queued;
  }

  /** When an event of a predicted trace started, and how long it took, as recorded; null in other traces. */
  recorded(event: number): { start: number; duration: number } | null {
    const later = this.#number("later", this.#rows[event]);
    const duration = this.#number("recorded_duration", this.#rows[event]);
    if (later === null || duration === null) return null;
    return { start: this.#drawn.start[event] - later, duration };
  }

  /** The kernel call inside an executor row. */
  compute(event: number): { start: number; end: number } | null {
    const after = this.#number("compute_after", this.#rows[event]);
    const left = this.#number("compute_left", this.#rows[event]);
    if (after === null || left === null) return null;
    const start = this.#drawn.start[event];
    return { start: start + after, end: start + this.#drawn.duration[event] - left };
  }

  /** How long a tensor moved at least and at most; null where that is certain or nothing moved. */
  moved(event: number): { least: number; most: number } | null {
    const least = this.#number("moved_least", this.#rows[event]);
    const most = this.#number("moved_most", this.#rows[event]);
    return least === null || most === null ? null : { least, most };
  }

  /** Bytes moved or produced. */
  bytes(event: number): number | null {
    return this.#number("bytes", this.#rows[event]);
  }

  /** Ids of the event, such as its thread, each with its name. */
  ids(event: number): [string, string][] {
    return Object.entries(this.#header.ids ?? {}).flatMap(([column, { label, texts }]) => {
      const at = this.#number(column, this.#rows[event]);
      return at === null ? [] : [[label, texts[at]]];
    });
  }

  /** Facts from the graph about the event's node. */
  node(event: number): NodeFacts {
    return nodeFacts(this.#container, this.strings, this.#number("node", this.#rows[event]));
  }

  /** The Python calls that made the event's op, the innermost first. */
  stack(event: number): Frame[] {
    return this.code?.stack(this.#rows[event]) ?? [];
  }

  /** The innermost of them that is in the user's own code. */
  ownFrame(event: number): Frame | null {
    return this.code?.ownFrame(this.#rows[event]) ?? null;
  }

  /** Such as "backward"; "" if not known. */
  phase(event: number): string {
    return this.code?.phase(this.#rows[event]) ?? "";
  }

  /** Path of the event's layer; "" outside of layers, null if layers are not known here. */
  layer(event: number): string | null {
    const layer = this.#container.column("layer")?.[this.#rows[event]];
    const { layers } = this.#header;
    if (layer === undefined || !layers) return null;
    if (layer < layers.length) return layers[layer];
    // Most layers are the first parts of the event's name.
    const name = this.#drawn.names.get(this.#drawn.name[event]);
    let end = -1;
    for (let part = layers.length; part <= layer; part++) end = name.indexOf("/", end + 1);
    return name.slice(0, end);
  }

  source(event: number): string | null {
    return this.#device("source", event);
  }

  destination(event: number): string | null {
    return this.#device("destination", event);
  }

  /** Name of the tensor moved; "" when the event moves none. */
  tensor(event: number): string {
    return this.strings.get(this.tensorIds[event]);
  }

  /** The task of the rank that came last to this collective; null for its own events, and if nothing is known. */
  last(event: number): string | null {
    const task = this.#container.column("last")?.[this.#rows[event]];
    return task === undefined || task === NO_TASK ? null : (this.#header.tasks?.[task] ?? null);
  }

  /** How long after the first rank the last one came to this collective. */
  spread(event: number): number | null {
    return this.#number("spread", this.#rows[event]);
  }

  /** The source's own text for the event, unchanged. */
  label(event: number): string {
    const label = this.strings.get(this.labelIds[event]);
    const stand = this.#header.own_name;
    // A function, as a text would have its dollar signs read as patterns.
    return stand === "" ? label : label.replace(stand, () => this.#drawn.names.get(this.#drawn.name[event]));
  }

  /** The events this one waited for. */
  inputs(event: number): Edge[] {
    return this.#flow.inputs(event);
  }

  /** The events that waited for this one. */
  consumers(event: number): Edge[] {
    return this.#flow.consumers(event);
  }

  /** The events that made the operands of this event's instruction, and the users of its result. */
  operands(event: number): Ends {
    const flow = this.#operands;
    return { inputs: flow?.inputs(event) ?? [], consumers: flow?.consumers(event) ?? [] };
  }

  /** Whether all that reads what an event made is among its consumers, or at least what did so last. */
  knowsReaders(_event: number): boolean {
    return true;
  }

  /** How many edges the event has in the whole trace, with operands; null while that is not known. */
  degree(event: number): Degree | null {
    const [{ inputs, consumers }, more] = [this.#flow.degree(event), this.operands(event)];
    return { inputs: inputs + more.inputs.length, consumers: consumers + more.consumers.length };
  }

  outputs(event: number): Output[] {
    return this.#records.outputs(this.#rows[event]);
  }

  /** The tensors that the event used, if recorded. */
  referenced(event: number): Referenced[] {
    return this.#records.referenced(this.#rows[event]);
  }

  memory(event: number): Memory[] {
    return this.#records.memory(this.#rows[event]);
  }

  /** Null where nothing of the event is here. */
  ownMemory(event: number): OwnMemory | null {
    return this.#records.ownMemory(this.#rows[event]);
  }

  #number(name: string, at: number): number | null {
    return this.#records.number(name, at);
  }

  #device(name: string, event: number): string | null {
    const device = this.#container.column(name)?.[this.#rows[event]];
    return device === undefined || device === NO_DEVICE ? null : (this.#header.devices[device] ?? null);
  }
}
