import { expect, it } from "vitest";
import { eventsIn } from "../search/range_statistics";
import { search } from "../search/search";
import { NO_STEP } from "../types";
import { makeDrawn, makeLane } from "../wire/testing/synthetic";
import { shownWith } from "./shown_with";

const drawn = {
  ...makeDrawn(
    [
      { start: 0, duration: 15, name: "generator", step: 0 },
      { start: 10, duration: 10, name: "train", step: 1 },
      { start: 12, duration: 3, name: "generator", step: 0 },
      { start: 20, duration: 5, name: "generator", step: 0 },
      { start: 20, duration: 0, name: "generator", step: 0 },
      { start: 30, duration: 10, name: "train", step: 2 },
    ],
    [makeLane("ops")],
  ),
  steps: [
    { step: NO_STEP, start: 0, end: 25, events: 4 },
    { step: 0, start: 10, end: 20, events: 4 },
    { step: 1, start: 30, end: 40, events: 1 },
  ],
};
const ids = [0, 1, 2, 3, 4, 5];

it("shows a step with the events outside steps that run during it", () => {
  expect(ids.filter(shownWith(drawn, 1))).toEqual([0, 1, 2, 4]);
  expect(ids.filter(shownWith(drawn, 2))).toEqual([5]);
  expect(ids.filter(shownWith(drawn, 0))).toEqual([0, 2, 3, 4]);
  expect(ids.filter(shownWith(drawn, null))).toEqual(ids);
});

it("finds and sums up the events shown", () => {
  expect([...search(drawn, null, "generator", 1).ids]).toEqual([0, 2, 4]);
  expect([...eventsIn(drawn, { start: 10, end: 20, lanes: null, step: 0 })]).toEqual([0, 1, 2, 4]);
  expect([...eventsIn(drawn, { start: 30, end: 40, lanes: null, step: 1 })]).toEqual([5]);
});
