/** Requests to the kernel, and messages while it does not answer. */

import type { Answer, Question } from "../host/host";
import type { Notice } from "./kernel_queries";
import type { Store } from "./store";

/** A kernel that has not answered by then is doing something else. */
const PATIENCE_MS = 1000;

export class KernelRequests {
  #open = 0;
  #timer = 0;
  /** Shown while no question has to wait. */
  #idle: Notice | null = null;

  constructor(
    readonly store: Store,
    readonly signal: AbortSignal,
  ) {
    signal.addEventListener("abort", () => clearTimeout(this.#timer));
  }

  get #source(): string {
    return this.store.host.source ?? "kernel";
  }

  get #busy(): Notice {
    return { text: `The ${this.#source} is busy; showing less detail until it answers`, part: null };
  }

  /** Shows this notice whenever there is nothing to wait for. */
  notice(notice: Notice | null): void {
    this.#idle = notice;
    this.store.setNotice(notice);
  }

  /** Shows what went wrong with an answer. */
  fail(what: string, error: unknown): void {
    this.store.fail(`The ${this.#source} ${what}: ${error instanceof Error ? error.message : error}`);
  }

  /** The answer, or null when there is none; then the user has seen why. */
  async ask(question: Question): Promise<Answer | null> {
    const { store, signal } = this;
    if (this.#open++ === 0)
      this.#timer = setTimeout(() => store.setNotice(this.#busy), PATIENCE_MS) as unknown as number;
    try {
      return await store.host.ask(question, signal);
    } catch (error) {
      this.fail("could not answer", error);
      return null;
    } finally {
      if (--this.#open === 0 && !signal.aborted) {
        clearTimeout(this.#timer);
        store.setNotice(this.#idle);
      }
    }
  }
}
