import { describe, expect, it } from "vitest";
import { awaited, newTraces, Rate } from "./store";
import { signature, state, trace } from "./testing/fixtures";

const numbers = (rows: { trace: number }[]) => rows.map((row) => row.trace);

describe("new traces", () => {
  const before = state({ traces: [trace({ trace: 4 }), trace({ trace: 2 })] });

  it("are those with higher numbers than any before", () => {
    const after = state({ traces: [6, 5, 4, 2].map((number) => trace({ trace: number })) });
    expect(numbers(newTraces(before, after))).toEqual([6, 5]);
  });

  it("are not old ones that came into the list because others were deleted", () => {
    const after = state({ traces: [trace({ trace: 2 }), trace({ trace: 1 })] });
    expect(newTraces(before, after)).toEqual([]);
  });

  it("exclude traces from before the first look", () => {
    expect(newTraces(null, before)).toEqual([]);
  });

  it("count as awaited if they, or any traces, had been requested", () => {
    const traces = [trace({ trace: 6, signature: 1 }), trace({ trace: 5, signature: 2 })];
    const after = state({ traces });
    const one = state({
      signatures: [signature({ signature: 2, requested: 1 }), signature({ signature: 1 })],
    });
    expect(numbers(awaited(one, after))).toEqual([5]);
    expect(numbers(awaited(state({ requested: 1 }), after))).toEqual([6, 5]);
    expect(awaited(state({}), after)).toEqual([]);
  });
});

describe("runs a second", () => {
  const at = (now_ms: number, runs: number) => state({ now_ms, signatures: [signature({ runs })] });

  it("are unknown after a single reading", () => {
    const rate = new Rate();
    rate.seen(at(0, 10));
    expect(rate.at(500)).toBeNull();
  });

  it("are counted over the last few seconds", () => {
    const rate = new Rate();
    for (const second of [0, 1, 2, 3, 4, 5, 6])
      rate.seen(at(second * 1000, second < 3 ? 0 : 100 * (second - 3)));
    expect(rate.at(6100)).toBe(100);
  });

  it("fall to nothing where no more end", () => {
    const rate = new Rate();
    rate.seen(at(0, 0));
    rate.seen(at(2000, 200));
    expect(rate.at(2500)).toBe(100);
    expect(rate.at(8000)).toBe(25);
    expect(rate.at(20_000)).toBe(0);
  });
});
