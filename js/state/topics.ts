/** Who wants to know when something has changed. Every listener belongs to a signal and goes with it. */

export type Topic =
  | "viewport"
  | "layout"
  | "selection"
  | "annotations"
  | "hover"
  | "search"
  | "paint"
  | "details"
  | "panel"
  | "notice";

export class Topics {
  readonly #listeners = new Map<Topic, Set<() => void>>();

  constructor(readonly signal: AbortSignal) {}

  /** Call `listener` after a change to any of `topics`, until `signal` aborts. */
  on(topics: readonly Topic[], listener: () => void, signal: AbortSignal = this.signal): void {
    for (const topic of topics) {
      const listeners = this.#listeners.get(topic) ?? new Set();
      this.#listeners.set(topic, listeners.add(listener));
      signal.addEventListener("abort", () => listeners.delete(listener), { once: true });
    }
  }

  emit(topic: Topic): void {
    for (const listener of this.#listeners.get(topic) ?? []) listener();
  }
}
