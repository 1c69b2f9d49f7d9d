/** Asks for the latest of questions that change faster than answers come: after a pause, and one at a time. */

const PAUSE_MS = 120;

export class Latest<Question, Answer> {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #waiting: Question | null = null;
  #isBusy = false;
  /** Whether the question under way was taken back. */
  #isDropped = false;

  /** `ask` may reject; `show` gets each answer or reason with its question. */
  constructor(
    readonly ask: (question: Question) => Promise<Answer>,
    readonly show: (question: Question, answer: Answer | null, reason: string) => void,
  ) {}

  /** Replace the pending request; null removes it, and drops the answer to the current one. */
  put(question: Question | null): void {
    this.#waiting = question;
    this.#isDropped ||= question === null;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#next(), PAUSE_MS);
  }

  async #next(): Promise<void> {
    const question = this.#waiting;
    if (this.#isBusy || question === null) return;
    this.#waiting = null;
    this.#isBusy = true;
    this.#isDropped = false;
    const asked = await this.ask(question).then(
      (answer) => ({ answer, reason: "" }),
      (error: unknown) => ({ answer: null, reason: error instanceof Error ? error.message : String(error) }),
    );
    this.#isBusy = false;
    if (!this.#isDropped) this.show(question, asked.answer, asked.reason);
    this.#next();
  }
}
