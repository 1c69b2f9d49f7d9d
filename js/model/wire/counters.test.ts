import { describe, expect, it } from "vitest";
import { openContainer } from "./container";
import {
  type CounterTrack,
  counterFigures,
  counterName,
  lineIn,
  readCounters,
  valueAt,
  withParts,
} from "./counters";
import { gzip, type Planned, writeContainer } from "./testing/write_container";

const columns: Record<string, Planned> = {
  counter_0_gap: { encoding: "shuffle", values: Uint32Array.of(0, 5, 10) },
  counter_0_level: { encoding: "delta-shuffle", values: Uint32Array.of(4, 0, 9) },
  counter_1_gap: { encoding: "shuffle", values: Uint32Array.of() },
  counter_1_level: { encoding: "shuffle", values: Float64Array.of() },
};
const counters = [
  {
    task: "",
    device: "cpu",
    counter: "queue",
    series: "size",
    unit: "",
    least: 0,
    most: 9,
    at: 20,
    first: 5,
  },
  { task: "", device: "cpu", counter: "load", series: "", unit: "%", least: -1, most: 2.5, at: 99, first: 0 },
];

async function read(header: Record<string, unknown> = {}): Promise<CounterTrack[]> {
  return readCounters(await openContainer(await gzip(writeContainer({ counters, ...header }, columns))));
}

describe("readCounters", () => {
  it("has times from the origin, even for a track without values here", async () => {
    const [queue, load] = await read();
    expect([...queue.times]).toEqual([5, 10, 20]);
    expect([...queue.levels]).toEqual([4, 0, 9]);
    expect([load.times.length, load.most]).toEqual([0, 2.5]);
    expect([4, 5, 9.5, 10, 999].map((time) => valueAt(queue, time))).toEqual([Number.NaN, 4, 4, 0, 9]);
    expect(valueAt(load, 5)).toBeNaN();
  });

  it("counts omitted tracks at the last one", async () => {
    expect((await read({ counters_unsent: 7 })).map(({ unsent }) => unsent)).toEqual([undefined, 7]);
    expect((await read({ counters_unsent: 0 })).map(({ unsent }) => unsent)).toEqual([undefined, undefined]);
  });

  it("returns nothing without counters", async () => {
    expect(readCounters(await openContainer(await gzip(writeContainer({}, {}))))).toEqual([]);
  });
});

describe("a part of a track", () => {
  it("is used if it covers the view", async () => {
    const whole = await read();
    const parts = whole.map((track) => ({ ...track, times: Float64Array.of(7), levels: Uint32Array.of(3) }));
    const [queue] = withParts(whole, parts, 6, 12);
    expect(valueAt(lineIn(queue, 7, 12), 8)).toBe(3);
    expect(valueAt(lineIn(queue, 7, 13), 8)).toBe(4);
    expect(valueAt(lineIn(queue, 5, 8), 8)).toBe(4);
  });
});

describe("counterFigures", () => {
  const line = { times: Float64Array.of(2, 5, 5, 9), levels: Float64Array.of(3, -8, 1, 6) };

  /** Nanosecond by nanosecond. */
  function slowly(start: number, end: number) {
    const last = (time: number) => line.levels[line.times.findLastIndex((each) => each <= time)];
    const lasting = Array.from({ length: end - start }, (_, at) => last(start + at)).filter(
      (level) => level !== undefined,
    );
    const changes = [...line.levels].filter((_, at) => line.times[at] > start && line.times[at] <= end);
    const all = [last(start), ...changes].filter((level) => level !== undefined);
    if (all.length === 0) return null;
    const mean = lasting.length ? lasting.reduce((a, b) => a + b) / lasting.length : all[all.length - 1];
    return { least: Math.min(...all), mean, most: Math.max(...all) };
  }

  it("matches a sum over every nanosecond", () => {
    for (let start = 0; start < 12; start++) {
      for (let end = start; end < 14; end++) {
        const [found, expected] = [counterFigures(line, start, end), slowly(start, end)];
        expect([found === null, found?.least, found?.most]).toEqual([
          expected === null,
          expected?.least,
          expected?.most,
        ]);
        if (found && expected) expect(found.mean).toBeCloseTo(expected.mean, 12);
      }
    }
  });
});

describe("the name of a counter", () => {
  it("includes its series if that is more specific", () => {
    const name = (counter: string, series: string) => counterName({ counter, series });
    expect(name("heap", "used")).toBe("heap used");
    expect(name("heap", "value")).toBe("heap");
    expect(name("heap", "heap")).toBe("heap");
    expect(name("tf.data buffer", "Root::Prefetch::ParallelMapV2")).toBe("ParallelMapV2 buffer");
    expect([name("", "used"), name("", "")]).toEqual(["used", "counter"]);
  });
});
