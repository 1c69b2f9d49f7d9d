/** A host that has the whole trace at hand: an exported page, or a trace that the monitor was given. */

import type { ExportFormat, Host, Options } from "./host";

const DEFAULTS: Options = {
  height: 560,
  group_by: "device",
  color_by: "kind",
  lane_filter: "",
  selection: null,
  annotations: [],
  view: null,
  views: [],
  tracks: [],
};

/** Sources of the two containers, each requested once. */
export interface Payload {
  drawn(): Promise<Uint8Array>;
  details(): Promise<Uint8Array>;
  /** Makes files of the trace, if possible. */
  make?: (format: ExportFormat) => Promise<{ name: string; bytes: Uint8Array }>;
  /** The formats of these. */
  makes?: readonly ExportFormat[];
}

export class StaticHost implements Host {
  readonly exports: readonly ExportFormat[];
  readonly #payload: Payload;
  readonly #options: Options;
  #resized: () => void = () => {};
  #isDragged = false;

  constructor(payload: Payload, options: Partial<Options>) {
    this.#payload = payload;
    this.#options = { ...DEFAULTS, ...options };
    this.exports = payload.makes ?? [];
  }

  /** All of them, with their current values. */
  get options(): Options {
    return this.#options;
  }

  drawn(): Promise<Uint8Array> {
    return this.#payload.drawn();
  }

  async details(): Promise<Uint8Array> {
    // The first picture comes before data that only a click needs.
    await new Promise((resolve) => setTimeout(resolve, 50));
    return this.#payload.details();
  }

  /** The first drawing is the whole trace, and so there is no more to ask for. */
  async rest(): Promise<never> {
    throw new Error("this trace is already complete");
  }

  async ask(): Promise<never> {
    throw new Error("this page has no kernel");
  }

  get<K extends keyof Options>(key: K): Options[K] {
    return this.#options[key];
  }

  set<K extends keyof Options>(key: K, value: Options[K]): void {
    if (key === "height") this.#isDragged = true;
    this.#options[key] = value;
  }

  /** Nobody but the view, which knows, changes another option here. */
  watch<K extends keyof Options>(
    key: K,
    changed: (value: Options[K], isPython: boolean) => void,
    signal: AbortSignal,
  ): void {
    if (key !== "height") return;
    this.#resized = () => changed(this.#options[key], false);
    signal.addEventListener("abort", () => (this.#resized = () => {}));
  }

  /** There is room for another height; one that the user chose stays. */
  resize(height: number): void {
    if (this.#isDragged || height === this.#options.height) return;
    this.#options.height = height;
    this.#resized();
  }

  async export(format: ExportFormat): Promise<{ name: string; bytes: Uint8Array }> {
    if (!this.#payload.make) throw new Error(`this page cannot make ${format}`);
    return this.#payload.make(format);
  }
}
