import { expect, it } from "vitest";
import type { SignatureRow } from "../model/wire/schema";
import { RunTimes, runTimesChart } from "./run_times";
import { signature, state, trace } from "./testing/fixtures";

const seen = (times: RunTimes, runs: number, total_ns: number, last_ms: number) =>
  times.seen(state({ now_ms: last_ms, signatures: [signature({ runs, total_ns, first_ms: 0, last_ms })] }));

it("has the mean of the runs between two states, and of those before the first one", () => {
  const times = new RunTimes();
  seen(times, 10, 100, 1000);
  seen(times, 10, 100, 1000);
  seen(times, 12, 160, 2000);
  const chart = runTimesChart(times.of(1), [trace({ start_ms: 500, duration_ns: 60 })]);
  expect(chart?.most).toBe(60);
  expect(chart?.means).toEqual([
    { from: 0, to: 0.5, y: 10 / 60 },
    { from: 0.5, to: 1, y: 30 / 60 },
  ]);
  expect(chart?.traced.map(({ x, y }) => [x, y])).toEqual([[0.25, 1]]);
});

it("joins intervals when they become too many, and keeps all runs", () => {
  const times = new RunTimes();
  for (let runs = 1; runs <= 500; runs++) seen(times, runs, 7 * runs, 10 * runs);
  const intervals = times.of(1);
  expect(intervals.length).toBeLessThanOrEqual(120);
  expect(intervals.reduce((sum, each) => sum + each.runs, 0)).toBe(500);
});

it("is empty for a signature that has not run, and starts over with another file", () => {
  const times = new RunTimes();
  seen(times, 0, 0, 0);
  expect(runTimesChart(times.of(1), [])).toBeNull();
  seen(times, 5, 50, 10);
  seen(times, 1, 3, 20);
  expect(times.of(1)).toEqual([{ from: 0, to: 20, runs: 1, ns: 3 }]);
});

it("leaves traced runs out of the means unless there are no others", () => {
  const times = new RunTimes();
  const counted = (values: Partial<SignatureRow>) =>
    times.seen(state({ now_ms: 10, signatures: [signature({ first_ms: 0, last_ms: 10, ...values })] }));
  counted({ runs: 1, total_ns: 80, traced: 1, traced_ns: 80 });
  expect(times.of(1)).toEqual([]);
  const chart = runTimesChart(times.of(1), [trace({ start_ms: 5, duration_ns: 80 })]);
  expect(chart?.traced.map(({ y }) => y)).toEqual([1]);
  counted({ runs: 4, total_ns: 100 + 80, traced: 2, traced_ns: 160 });
  expect(times.of(1).map(({ runs, ns }) => [runs, ns])).toEqual([[2, 20]]);
});
