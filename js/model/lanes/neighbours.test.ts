import { describe, expect, it } from "vitest";
import { packLanes } from "../lod/rows";
import { makeDrawn, randomNumbers } from "../wire/testing/synthetic";
import { arrange } from "./layout";
import { nextInLane, verticalNeighbour } from "./neighbours";

const random = randomNumbers(31);
const drawn = makeDrawn(
  Array.from({ length: 200 }, (_, i) => ({
    start: Math.floor(random() * 1000),
    duration: Math.floor(random() * 60),
    lane: i % 3,
  })),
);
const rows = packLanes(drawn, null);
const arrangement = arrange(drawn, rows, {
  groupBy: "device",
  collapsed: new Set(),
  hidden: new Set(),
  pinned: [],
  filter: "",
  folded: () => null,
  tracks: [],
  counters: [],
  tensors: () => null,
});

describe("nextInLane", () => {
  it("walks all events of a lane by start, to both ends", () => {
    for (const [lane, ofLane] of rows.entries()) {
      const ids = [...drawn.lane.keys()].filter((id) => drawn.lane[id] === lane);
      for (const [place, id] of ids.entries()) {
        expect(nextInLane(ofLane, id, 1, drawn)).toBe(ids[place + 1] ?? null);
        expect(nextInLane(ofLane, id, -1, drawn)).toBe(ids[place - 1] ?? null);
      }
    }
  });

  it("takes a single row", () => {
    const [row] = rows[1];
    expect(nextInLane([row], row.ids[0], 1, drawn)).toBe(row.ids[1]);
    expect(nextInLane([row], row.ids[0], -1, drawn)).toBeNull();
  });
});

describe("verticalNeighbour", () => {
  it("finds the event nearest in time in the next lane", () => {
    const distance = (id: number, time: number) =>
      Math.max(drawn.start[id] - time, time - drawn.start[id] - drawn.duration[id], 0);
    for (let id = 0; id < drawn.count; id += 3) {
      for (const direction of [1, -1] as const) {
        const lane = drawn.lane[id] + direction;
        for (const time of [drawn.start[id], -50, 500.5, 5000]) {
          const found = verticalNeighbour(arrangement, id, time, direction, drawn);
          if (lane < 0 || lane > 2) {
            expect(found).toBeNull();
            continue;
          }
          const others = [...drawn.lane.keys()].filter((other) => drawn.lane[other] === lane);
          expect(others).toContain(found);
          expect(distance(found ?? -1, time)).toBe(Math.min(...others.map((other) => distance(other, time))));
        }
      }
    }
  });

  it("finds nothing from an event whose lane is not shown", () => {
    const empty = { items: [], height: 0 };
    expect(verticalNeighbour(empty, 0, 0, 1, drawn)).toBeNull();
  });
});
