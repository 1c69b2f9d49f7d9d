import { describe, expect, it } from "vitest";
import { packLanes } from "../lod/rows";
import { makeDrawn, randomNumbers } from "../wire/testing/synthetic";
import { activity } from "./activity";
import { ACTIVITIES, activitiesOf } from "./palette";

const random = randomNumbers(21);
const drawn = makeDrawn(
  Array.from({ length: 300 }, (_, i) => ({
    start: Math.floor(random() * 1000),
    duration: Math.floor(random() ** 2 * 200),
    lane: i % 4,
    category: i % 3,
  })),
);
const rows = packLanes(drawn, null);
const activities = activitiesOf(drawn.categories);

/** Busy ns of one activity between two times, asked event by event. */
function busyBetween(wanted: number, from: number, to: number, lanes: number[] | null): number {
  let sum = 0;
  for (let id = 0; id < drawn.count; id++) {
    if (activities[drawn.category[id]] !== wanted || (lanes !== null && !lanes.includes(drawn.lane[id])))
      continue;
    sum += Math.max(0, Math.min(drawn.start[id] + drawn.duration[id], to) - Math.max(drawn.start[id], from));
  }
  return sum;
}

describe("activity", () => {
  it.each([
    [0, 1200, 7, null],
    [0, 1200, 600, null],
    [100, 101, 3, null],
    [123.4, 777.7, 31, [1, 3]],
    [2000, 3000, 5, null],
    [0, 1200, 1, [0]],
  ] as [number, number, number, number[] | null][])(
    "from %d to %d in %i bins of lanes %j",
    (from, to, bins, lanes) => {
      const { busy, peak } = activity(drawn, rows, lanes, from, to, bins);
      const width = (to - from) / bins;
      expect(busy.length).toBe(ACTIVITIES.length);
      let most = 0;
      for (let bin = 0; bin < bins; bin++) {
        let all = 0;
        for (let one = 0; one < ACTIVITIES.length; one++) {
          const wanted = busyBetween(one, from + bin * width, from + (bin + 1) * width, lanes);
          expect(busy[one][bin]).toBeCloseTo(wanted, 2);
          all += wanted;
        }
        most = Math.max(most, all);
      }
      expect(peak).toBeCloseTo(most, 6);
    },
  );

  it("is empty without time or bins", () => {
    expect(activity(drawn, rows, null, 5, 5, 3)).toMatchObject({ peak: 0 });
    expect(activity(drawn, rows, null, 0, 9, 0)).toMatchObject({ peak: 0 });
  });

  it("loses nothing of a long event over many tiny ones", () => {
    const far = 2 ** 53 - 2 ** 34;
    const events = Array.from({ length: 1000 }, (_, i) => ({ start: far + i * 3, duration: 1 }));
    const long = makeDrawn([...events, { start: far, duration: 2 ** 33, lane: 1 }]);
    const { peak } = activity(long, packLanes(long, null), null, far, far + 2 ** 33, 1);
    expect(peak).toBe(2 ** 33 + 1000);
  });
});
