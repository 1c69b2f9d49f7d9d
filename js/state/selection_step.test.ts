import { expect, it } from "vitest";
import { makeDrawn } from "../model/wire/testing/synthetic";
import { liesIn } from "./view_state";

const run = makeDrawn([
  { start: 0, duration: 500, step: -1 },
  { start: 100, duration: 9, step: 0 },
  { start: 200, duration: 9, step: 1 },
]);
run.steps = [
  { step: -1, start: 0, end: 500, events: 1 },
  { step: 0, start: 100, end: 109, events: 1 },
  { step: 1, start: 200, end: 209, events: 1 },
];

it("takes events for a step's when all of them are", () => {
  expect(liesIn(run, { events: [1] }, 1)).toBe(true);
  expect(liesIn(run, { events: [1] }, 2)).toBe(false);
  expect(liesIn(run, { events: [1, 2] }, 1)).toBe(false);
  expect(liesIn(run, { events: [99] }, 1)).toBe(false);
});

it("recognizes events outside steps", () => {
  expect(liesIn(run, { events: [1, 2] }, null)).toBe(true);
  expect(liesIn(run, { events: [0, 1] }, null)).toBe(false);
});

it("uses a range's own step, or its times without one", () => {
  const range = { start: 101, end: 105, lanes: null };
  expect(liesIn(run, { ...range, step: 0 }, 1)).toBe(true);
  expect(liesIn(run, { ...range, step: 0 }, 2)).toBe(false);
  expect(liesIn(run, { ...range, step: null }, 1)).toBe(true);
  expect(liesIn(run, { ...range, end: 205, step: null }, 1)).toBe(false);
});
