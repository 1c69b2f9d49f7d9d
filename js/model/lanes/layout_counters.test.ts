import { describe, expect, it } from "vitest";
import { packLanes } from "../lod/rows";
import type { CounterTrack } from "../wire/counters";
import { foldedBars, ownTracks } from "../wire/own_tracks";
import { makeDrawn, makeLane } from "../wire/testing/synthetic";
import { type ArrangeOptions, arrange } from "./layout";
import { OWN_TRACKS, trackName } from "./tracks";

const [CPU, GPU] = ["/job:worker/replica:0/task:1/device:CPU:0", "/job:worker/replica:0/task:1/device:GPU:0"];
const TASK = "/job:worker/replica:0/task:1";
const lanes = [makeLane("ops", CPU), makeLane("stream:1", GPU)];
const drawn = makeDrawn(
  lanes.map((_, lane) => ({ start: lane, duration: 5, lane })),
  lanes,
);
const counter = (task: string, device: string, name: string, series = "") =>
  ({ task, device, counter: name, series }) as CounterTrack;
const counters = [
  counter(TASK, CPU, "heap", "used"),
  counter(TASK, GPU, "power"),
  counter("", "system", "load", "avg"),
];

function outline(options: Partial<ArrangeOptions> = {}): string[] {
  const { items } = arrange(drawn, packLanes(drawn, null), {
    groupBy: "device",
    collapsed: new Set(),
    hidden: new Set(),
    pinned: [],
    filter: "",
    folded: () => null,
    tracks: [],
    tensors: () => null,
    counters,
    ...options,
  });
  return items.map((item) =>
    item.type === "group" || item.type === "lane"
      ? item.label
      : [item.context, trackName(item)].filter(Boolean).join(" | "),
  );
}

describe("counters", () => {
  it("are under the lanes of their device, or at the end if it has no lanes", () => {
    expect(outline()).toEqual([
      ...["worker 1 · CPU:0", "ops", "heap used", "worker 1 · GPU:0", "stream 1", "power"],
      "system | load avg",
    ]);
  });

  it("name their device when no header does", () => {
    expect(outline({ groupBy: "none" }).slice(2)).toEqual([
      "worker 1 · CPU:0 | heap used",
      "worker 1 · GPU:0 | power",
      "system | load avg",
    ]);
  });

  it("fold and hide with their group, and are hidden and found by themselves", () => {
    expect(outline({ collapsed: new Set([`${TASK}\0${GPU}`]) })).not.toContain("power");
    expect(outline({ hidden: new Set([`counter\0${TASK}\0${GPU}\0power\0`]) })).not.toContain("power");
    expect(outline({ filter: "counter heap" })).toEqual(["worker 1 · CPU:0", "heap used"]);
    expect(outline({ filter: "stream" })).toEqual(["worker 1 · GPU:0", "stream 1"]);
  });
});

describe("own tracks", () => {
  const own = ownTracks([
    { name: "phases", starts: [1], lengths: [2], names: [""], rows: [0] },
    { name: "loss", unit: "", times: [1], values: [1] },
    ...[12, 13].map((length) => {
      const each = Array.from({ length }, (_, at) => at);
      return {
        name: `${length} rows`,
        starts: each,
        lengths: each.map(() => 20),
        names: each.map(String),
        rows: each,
      };
    }),
  ]);
  const options = { counters: [...counters, ...own.counters], bars: own.bars };

  it("are a group at the end in the order they were added, which folds and hides like others", () => {
    const all = ["system | load avg", "Own tracks", "phases", "loss", "12 rows", "13 rows"];
    expect(outline(options).slice(-6)).toEqual(all);
    expect(outline({ ...options, collapsed: new Set([OWN_TRACKS]) }).slice(-2)).toEqual(all.slice(0, 2));
    expect(outline({ ...options, hidden: new Set([OWN_TRACKS]) }).at(-1)).toBe(all[0]);
    expect(outline({ ...options, filter: "12" })).toEqual(["Own tracks", "12 rows"]);
    expect(outline({ ...options, groupBy: "none" }).slice(-5)).toEqual([all[0], ...all.slice(2)]);
  });

  it("of more than 12 rows begin as one row, which is busy when any of them is", () => {
    const [, few, many] = own.bars;
    expect(foldedBars(few, undefined)).toBeNull();
    expect(foldedBars(many, false)).toBeNull();
    expect(foldedBars(few, true)?.start).toHaveLength(12);
    const row = foldedBars(many, undefined);
    expect([row?.start[0], row?.end.at(-1)]).toEqual([0, 32]);
    expect(foldedBars(many, true)).toBe(row);
  });
});
