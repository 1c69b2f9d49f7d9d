/** The records nested in an event: its outputs, what allocators did for it, its MemoryStats. */
import { type Container, NUMBERS, oneOf, type Strings } from "./container";
import { optional, signed } from "./row_order";
import type { DetailsHeader } from "./schema";

/** The buffer of a tensor, where its allocator numbers them. */
export interface Buffer {
  id: number;
  /** Whether other tensors had it too when it was recorded. */
  isShared: boolean;
}

/** One output of an op; `bytes` as requested, null when not recorded. */
export interface Output {
  slot: number;
  dtype: string;
  shape: string;
  bytes: number | null;
  buffer: Buffer | null;
}

/** A tensor that an op used; TensorFlow recorded them up to 1.15. */
export interface Referenced {
  allocator: string;
  bytes: number | null;
  buffer: Buffer | null;
}

/** Memory of one op in one allocator, in bytes; null if not recorded. */
export interface Memory {
  allocator: string;
  total: number | null;
  peak: number | null;
  live: number | null;
}

/** Bytes that an op took for itself or kept beyond its end, and the buffers it kept; null and "" when not recorded. */
export interface OwnMemory {
  temp: number | null;
  persistent: number | null;
  persistentIds: string;
  deviceTemp: number | null;
  devicePersistent: number | null;
  devicePersistentIds: string;
}

const SHARED = 2;
const WHOLE = [Uint8Array, Uint16Array, Uint32Array];

/** Answers by row of the columns. An empty column is not sent. */
export class Records {
  readonly #ids = new Map<string, Float64Array>();

  constructor(
    readonly container: Container,
    /** Names that the records refer to. */
    readonly names: Pick<DetailsHeader, "allocators" | "dtypes">,
    readonly strings: Strings,
  ) {}

  number(name: string, at: number): number | null {
    if (this.container.column(name) === undefined) return null;
    return optional(oneOf(this.container, name, null, NUMBERS), at);
  }

  outputs(row: number): Output[] {
    const { container } = this;
    return this.#range("output_offsets", row).map((at) => {
      const dtype = String(oneOf(container, "output_dtype", null, WHOLE)[at]);
      return {
        slot: oneOf(container, "output_slot", null, WHOLE)[at],
        dtype: this.names.dtypes[dtype] ?? `dtype ${dtype}`,
        shape: this.strings.get(oneOf(container, "output_shape", null, [Uint32Array])[at]),
        bytes: this.number("output_bytes", at),
        buffer: this.#buffer("output", at),
      };
    });
  }

  referenced(row: number): Referenced[] {
    return this.#range("referenced_offsets", row).map((at) => ({
      allocator: this.#allocator("referenced_allocator", at),
      bytes: this.number("referenced_bytes", at),
      buffer: this.#buffer("referenced", at),
    }));
  }

  memory(row: number): Memory[] {
    return this.#range("memory_offsets", row).map((at) => ({
      allocator: this.#allocator("memory_allocator", at),
      total: this.number("memory_total", at),
      peak: this.number("memory_peak", at),
      live: this.number("memory_live", at),
    }));
  }

  ownMemory(row: number): OwnMemory {
    return {
      temp: this.number("temp_bytes", row),
      persistent: this.number("persistent_bytes", row),
      persistentIds: this.#text("persistent_ids", row),
      deviceTemp: this.number("device_temp_bytes", row),
      devicePersistent: this.number("device_persistent_bytes", row),
      devicePersistentIds: this.#text("device_persistent_ids", row),
    };
  }

  #buffer(of: "output" | "referenced", at: number): Buffer | null {
    if (this.container.column(`${of}_buffer`) === undefined) return null;
    const state = oneOf(this.container, `${of}_buffer`, null, [Uint8Array])[at];
    return state === 0 ? null : { id: this.#bufferIds(of)[at], isShared: state === SHARED };
  }

  /** The number of each tensor's buffer: those of known ones are stored as distances to the one before. */
  #bufferIds(of: "output" | "referenced"): Float64Array {
    let ids = this.#ids.get(of);
    if (ids === undefined) {
      const states = oneOf(this.container, `${of}_buffer`, null, [Uint8Array]);
      const steps = oneOf(this.container, `${of}_buffer_step`, null, NUMBERS);
      let known = 0;
      let id = 0;
      ids = Float64Array.from(states, (state) => {
        if (state > 0) id += signed(steps, known++);
        return id;
      });
      this.#ids.set(of, ids);
    }
    return ids;
  }

  #allocator(name: string, at: number): string {
    return this.names.allocators[oneOf(this.container, name, null, [Uint16Array])[at]] ?? "";
  }

  #text(name: string, row: number): string {
    if (this.container.column(name) === undefined) return "";
    return this.strings.get(oneOf(this.container, name, null, [Uint32Array])[row]);
  }

  #range(name: string, row: number): number[] {
    const offsets = this.container.column(name);
    if (offsets === undefined) return [];
    return Array.from({ length: offsets[row + 1] - offsets[row] }, (_, k) => offsets[row] + k);
  }
}
