import { expect, it } from "vitest";
import { foldRows } from "../lod/folded";
import { packLanes } from "../lod/rows";
import { makeDrawn } from "../wire/testing/synthetic";
import { arrange, type LaneItem } from "./layout";
import { Placement, rowNumbers } from "./placement";

it("a folded lane has one row, knows how many it had, and every event in it is on that row", () => {
  const drawn = makeDrawn([
    { start: 0, duration: 50, lane: 0 },
    { start: 3, duration: 50, lane: 1 },
    { start: 3, duration: 50, lane: 1 },
  ]);
  const rows = packLanes(drawn, null);
  const folded = arrange(drawn, rows, {
    groupBy: "none",
    collapsed: new Set(),
    hidden: new Set(),
    pinned: [],
    filter: "",
    folded: ({ id }) => foldRows(rows[id]),
    tracks: [],
    counters: [],
    tensors: () => null,
  });
  const [single, item] = folded.items as LaneItem[];
  expect(single).toMatchObject({ folded: false, depth: 1, height: 17 + 7 });
  expect(item).toMatchObject({ folded: true, depth: 2, height: 17 + 7 });
  expect(item.rows.map(({ ids }) => [...ids])).toEqual([[1]]);
  const placement = new Placement(drawn, folded, rowNumbers(drawn.count, rows), null);
  expect(placement.top(2)).toBe(placement.top(1));
  // An arrow runs from the middle of a bar to the edge of a folded lane, and along that edge within one.
  const [bar, edge] = placement.ends(0, 1)!;
  expect(bar).toBe(placement.top(0)! + 8.5);
  expect(edge).toBeLessThan(placement.top(1)!);
  expect(placement.ends(1, 0)).toEqual([edge, bar]);
  const [from, to] = placement.ends(1, 2)!;
  expect(from).toBe(to);
  expect(from).toBeGreaterThan(placement.top(1)! + 17 - 1);
});
