import { expect, it } from "vitest";
import { barsWith, ownTracks } from "./own_tracks";

it("bars lie in their rows, and values are as of a counter", () => {
  const tracks = [
    {
      name: "a",
      starts: [1, 3, 4, 9],
      lengths: [1, 6, 0, 2],
      names: ["x", "y", "x", ""],
      rows: [0, 0, 1, 0],
    },
    { name: "b", unit: "%", times: [2, 5, 7], values: [-1, 4, 4] },
    { name: "none", unit: "", times: [], values: [] },
  ];
  const { bars, counters } = ownTracks(tracks);
  expect(bars[0].rows.map(({ ids, start, end }) => [[...ids], [...start], [...end]])).toEqual([
    [
      [0, 1, 3],
      [1, 3, 9],
      [2, 9, 11],
    ],
    [[2], [4], [4]],
  ]);
  expect(bars[0].shade[0]).toBe(bars[0].shade[2]);
  expect(counters.map(({ counter, unit, least, most, at }) => [counter, unit, least, most, at])).toEqual([
    ["b", "%", -1, 4, 5],
    ["none", "", 0, 0, 0],
  ]);
  expect([...bars, ...counters].map(({ own }) => own)).toEqual([0, 1, 2]);
  expect(ownTracks(tracks).bars).toBe(bars);
  expect(barsWith(bars, "X").map(({ at }) => at)).toEqual([0, 2]);
  expect(barsWith(bars, "a -x").map(({ at }) => at)).toEqual([1, 3]);
  for (const none of ["", "op:x", "z"]) expect(barsWith(bars, none)).toEqual([]);
});
