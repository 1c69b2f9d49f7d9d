/** The part of a trace that is looked up when asked for: times apart, tensors, inputs, memory. */
import { type Container, openContainer, Strings } from "./container";
import { Dataflow, type Edge } from "./dataflow";
import { oneOf } from "./required";

export type { Edge, EdgeKind } from "./dataflow";

/** One output of an op; `bytes` as allocated, null when not recorded. */
export interface Output {
  slot: number;
  dtype: string;
  shape: string;
  bytes: number | null;
}

/** What one allocator did for one op, in bytes; null when not recorded. */
export interface Memory {
  allocator: string;
  total: number | null;
  peak: number | null;
  live: number | null;
}

const NO_DEVICE = 0xffff;

/** Unpack the `details` container; rejects with a readable Error. */
export async function readDetails(gzip: Uint8Array): Promise<Details> {
  return new Details(await openContainer(gzip));
}

/** Answers by event id. Times are nanoseconds from the origin; null means not recorded. */
export class Details {
  readonly count: number;
  /** The texts of `tensorIds` and of the labels. */
  readonly strings: Strings;
  /** Text number of each event's tensor name. */
  readonly tensorIds: Uint32Array;
  readonly #container: Container;
  readonly #header: Header;
  readonly #flow: Dataflow;

  constructor(container: Container) {
    this.#container = container;
    this.#header = container.header as unknown as Header;
    this.count = this.#header.count;
    this.strings = new Strings(
      oneOf(container, "strings_bytes", null, [Uint8Array]),
      oneOf(container, "strings_offsets", null, [Uint32Array]),
    );
    this.tensorIds = oneOf(container, "tensor", this.count, [Uint32Array]);
    this.#flow = new Dataflow(
      oneOf(container, "edge_offsets", this.count + 1, [Uint32Array]),
      oneOf(container, "edge_source", null, [Uint32Array]),
      oneOf(container, "edge_kind", null, [Uint8Array]),
    );
  }

  /** When the event became ready or was launched. */
  scheduled(event: number): number | null {
    return this.#number("scheduled", event);
  }

  /** The kernel call inside an executor row. */
  compute(event: number): { start: number; end: number } | null {
    const start = this.#number("compute_start", event);
    const end = this.#number("compute_end", event);
    return start === null || end === null ? null : { start, end };
  }

  /** Bytes moved or produced. */
  bytes(event: number): number | null {
    return this.#number("bytes", event);
  }

  thread(event: number): number | null {
    return this.#number("thread", event);
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

  /** The source's own text for the event, unchanged. */
  label(event: number): string {
    return this.strings.get(oneOf(this.#container, "detail", this.count, [Uint32Array])[event]);
  }

  /** The events this one waited for. */
  inputs(event: number): Edge[] {
    return this.#flow.inputs(event);
  }

  /** The events that waited for this one. */
  consumers(event: number): Edge[] {
    return this.#flow.consumers(event);
  }

  outputs(event: number): Output[] {
    const container = this.#container;
    const outputs: Output[] = [];
    for (const at of this.#range("output_offsets", event)) {
      const dtype = String(oneOf(container, "output_dtype", null, [Uint8Array])[at]);
      outputs.push({
        slot: oneOf(container, "output_slot", null, [Uint8Array])[at],
        dtype: this.#header.dtypes[dtype] ?? `dtype ${dtype}`,
        shape: this.strings.get(oneOf(container, "output_shape", null, [Uint32Array])[at]),
        bytes: this.#number("output_bytes", at),
      });
    }
    return outputs;
  }

  memory(event: number): Memory[] {
    const memory: Memory[] = [];
    for (const at of this.#range("memory_offsets", event)) {
      const allocator = oneOf(this.#container, "memory_allocator", null, [Uint16Array])[at];
      memory.push({
        allocator: this.#header.allocators[allocator] ?? "",
        total: this.#number("memory_total", at),
        peak: this.#number("memory_peak", at),
        live: this.#number("memory_live", at),
      });
    }
    return memory;
  }

  /** Bytes of temporary memory. */
  temp(event: number): number | null {
    return this.#number("temp_bytes", event);
  }

  /** Bytes of memory kept beyond the op. */
  persistent(event: number): number | null {
    return this.#number("persistent_bytes", event);
  }

  // A column of which nothing was recorded is not sent at all.
  #number(name: string, at: number): number | null {
    const value = this.#container.column(name)?.[at];
    return value === undefined || Number.isNaN(value) ? null : value;
  }

  #device(name: string, event: number): string | null {
    const device = this.#container.column(name)?.[event];
    return device === undefined || device === NO_DEVICE ? null : (this.#header.devices[device] ?? null);
  }

  #range(name: string, event: number): number[] {
    const offsets = this.#container.column(name);
    if (offsets === undefined) return [];
    return Array.from({ length: offsets[event + 1] - offsets[event] }, (_, k) => offsets[event] + k);
  }
}

/** The header as display/wire.py writes it. */
interface Header {
  count: number;
  devices: string[];
  allocators: string[];
  dtypes: Record<string, string>;
}
