import { describe, expect, it } from "vitest";
import { packLanes } from "../lod/rows";
import { rangeStatistics } from "../search/range_statistics";
import { search } from "../search/search";
import { makeDrawn } from "../wire/testing/synthetic";
import { AlignedSteps } from "./aligned_steps";

const run = {
  ...makeDrawn([
    { start: 0, duration: 5, lane: 0, step: 0 },
    { start: 2, duration: 5, lane: 1, step: 0 },
    { start: 100, duration: 9, lane: 0, step: 1 },
    { start: 101, duration: 1, lane: 0, step: 1 },
  ]),
  steps: [
    { step: 0, start: 0, end: 7, events: 2 },
    { step: 1, start: 100, end: 109, events: 2 },
  ],
};
const aligned = new AlignedSteps(run);

describe("AlignedSteps", () => {
  it("gives every step lanes of its own and times of its own", () => {
    expect(aligned.drawn.lanes.map((lane) => [lane.task, lane.lane, lane.events])).toEqual([
      ["step 0", run.lanes[0].lane, 1],
      ["step 0", run.lanes[1].lane, 1],
      ["step 1", run.lanes[0].lane, 2],
    ]);
    expect([...aligned.drawn.start]).toEqual([0, 2, 0, 1]);
    expect(aligned.drawn.span).toBe(9);
  });

  it("loses no event", () => {
    const ids = packLanes(aligned.drawn, null).flatMap((lane) => lane.flatMap((row) => [...row.ids]));
    expect(ids.sort()).toEqual([0, 1, 2, 3]);
  });

  it("converts a range to the run's times and lanes, and back", () => {
    const here = { start: 1, end: 4, lanes: [2], step: null };
    const there = { start: 101, end: 104, lanes: [0], step: 1 };
    expect(aligned.toRun(here)).toEqual(there);
    expect(aligned.fromRun(there)).toEqual(here);
  });

  it("takes the first step of a range over several, and shows none over all", () => {
    expect(aligned.toRun({ start: 0, end: 3, lanes: [0, 2], step: null })).toMatchObject({
      lanes: [0],
      step: 0,
    });
    expect(aligned.fromRun({ start: 0, end: 3, lanes: null, step: null })).toBeNull();
  });

  it("leaves out events outside steps", () => {
    const long = makeDrawn([
      { start: 0, duration: 5000, lane: 1, step: -1, name: "a" },
      { start: 100, duration: 5, lane: 0, step: 0, name: "a" },
      { start: 200, duration: 9, lane: 0, step: 1, name: "a" },
    ]);
    long.steps = [
      { step: -1, start: 0, end: 5000, events: 1 },
      { step: 0, start: 100, end: 105, events: 1 },
      { step: 1, start: 200, end: 209, events: 1 },
    ];
    const either = new AlignedSteps(long);
    const { drawn } = either;
    expect(drawn.span).toBe(9);
    const rows = packLanes(drawn, null);
    expect(rows.flatMap((lane) => lane.flatMap((row) => [...row.ids]))).toEqual([1, 2]);
    const shown = drawn.lanes.filter((lane) => rows[lane.id].length > 0);
    expect(shown.map((lane) => lane.task)).toEqual(["step 0", "step 1"]);
    const all = { start: 0, end: 9, lanes: null, step: null };
    expect(rangeStatistics(drawn, all, "op").count).toBe(2);
    expect([...search(drawn, null, "a", null).ids]).toEqual([1, 2]);
    expect(either.toRun(all)).toEqual({ start: 100, end: 109, lanes: [0], step: 0 });
    expect(either.fromRun({ ...all, step: -1 })).toBeNull();
  });

  it("keeps selected events", () => {
    expect(aligned.toRun({ events: [3] })).toEqual({ events: [3] });
    expect(aligned.fromRun({ events: [3] })).toEqual({ events: [3] });
  });
});
