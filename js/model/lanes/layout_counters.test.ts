import { describe, expect, it } from "vitest";
import { packLanes } from "../lod/rows";
import type { CounterTrack } from "../wire/counters";
import { makeDrawn, makeLane } from "../wire/testing/synthetic";
import { type ArrangeOptions, arrange } from "./layout";
import { trackName } from "./tracks";

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
