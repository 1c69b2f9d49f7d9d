import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Latest } from "./what_if";

/** Questions asked so far, and how to answer them. */
function asking() {
  const asked: { question: number; answer: (text: string) => void; fail: (error: Error) => void }[] = [];
  const shown: [number, string | null, string][] = [];
  const latest = new Latest<number, string>(
    (question) => new Promise((answer, fail) => asked.push({ question, answer, fail })),
    (...one) => shown.push(one),
  );
  return { asked, shown, latest };
}

const PAUSE = 1000;

describe("Latest", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("asks once for questions that follow each other", async () => {
    const { asked, shown, latest } = asking();
    for (const question of [1, 2, 3]) latest.put(question);
    await vi.advanceTimersByTimeAsync(PAUSE);
    expect(asked.map(({ question }) => question)).toEqual([3]);
    asked[0].answer("three");
    await vi.advanceTimersByTimeAsync(PAUSE);
    expect(shown).toEqual([[3, "three", ""]]);
    expect(asked).toHaveLength(1);
  });

  it("has one question under way, and asks the latest afterwards", async () => {
    const { asked, shown, latest } = asking();
    for (const question of [1, 2, 3]) {
      latest.put(question);
      await vi.advanceTimersByTimeAsync(PAUSE);
    }
    expect(asked.map(({ question }) => question)).toEqual([1]);
    asked[0].fail(new Error("too large"));
    await vi.advanceTimersByTimeAsync(PAUSE);
    expect(asked.map(({ question }) => question)).toEqual([1, 3]);
    asked[1].answer("three");
    await vi.advanceTimersByTimeAsync(PAUSE);
    expect(shown).toEqual([
      [1, null, "too large"],
      [3, "three", ""],
    ]);
  });

  it("drops a question that is taken back", async () => {
    const { asked, latest } = asking();
    latest.put(1);
    latest.put(null);
    await vi.advanceTimersByTimeAsync(PAUSE);
    expect(asked).toEqual([]);
  });

  it("does not show the answer to a question that was taken back", async () => {
    const { asked, shown, latest } = asking();
    latest.put(1);
    await vi.advanceTimersByTimeAsync(PAUSE);
    latest.put(null);
    asked[0].answer("one");
    latest.put(2);
    await vi.advanceTimersByTimeAsync(PAUSE);
    asked[1].answer("two");
    await vi.advanceTimersByTimeAsync(PAUSE);
    expect(shown).toEqual([[2, "two", ""]]);
  });
});
