/** Finds events with the same name. */

import type { Drawn } from "../types";
export class NameIndex {
  readonly #drawn: Drawn;
  readonly #offsets: Uint32Array;
  readonly #ids: Uint32Array;

  constructor(drawn: Drawn) {
    this.#drawn = drawn;
    const offsets = new Uint32Array(drawn.names.length + 2);
    for (const name of drawn.name) offsets[name + 2]++;
    for (let name = 2; name < offsets.length; name++) offsets[name] += offsets[name - 1];
    this.#ids = new Uint32Array(drawn.count);
    // offsets[name + 1] walks from the start of a name's ids to their end, which is where the next name's begin.
    for (let id = 0; id < drawn.count; id++) this.#ids[offsets[drawn.name[id] + 1]++] = id;
    this.#offsets = offsets;
  }

  /** The ids of all events with the name of event `id`, in time order. */
  same(id: number): Uint32Array {
    const name = this.#drawn.name[id];
    return this.#ids.subarray(this.#offsets[name], this.#offsets[name + 1]);
  }
}
