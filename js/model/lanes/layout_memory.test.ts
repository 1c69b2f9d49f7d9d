import { describe, expect, it } from "vitest";
import { packLanes } from "../lod/rows";
import type { Track } from "../wire/memory";
import { makeDrawn, makeLane } from "../wire/testing/synthetic";
import { type ArrangeOptions, arrange, itemAt } from "./layout";
import { trackName } from "./tracks";

const [PS, WORKER] = ["/job:ps/replica:0/task:0", "/job:worker/replica:0/task:1"];
const [CPU, GPU] = [`${WORKER}/device:CPU:0`, `${WORKER}/device:GPU:0`];
const lanes = [makeLane("ops", `${PS}/device:CPU:0`), makeLane("ops", CPU), makeLane("ops", GPU)];
const drawn = makeDrawn(
  lanes.map((_, lane) => ({ start: lane, duration: 5, lane })),
  lanes,
);
const track = (task: string, device: string, allocator: string) => ({ task, device, allocator }) as Track;
const tracks = [
  track(PS, `${PS}/device:CPU:0`, "cpu"),
  track(WORKER, CPU, "gpu_host_bfc"),
  track(WORKER, GPU, "GPU_0_bfc"),
  track(WORKER, "", "device 7"),
];

function outline(options: Partial<ArrangeOptions>): string[] {
  const all = {
    collapsed: new Set<string>(),
    hidden: new Set<string>(),
    pinned: [],
    filter: "",
    folded: () => null,
    tracks,
    counters: [],
    tensors: () => null,
  };
  const { items, height } = arrange(drawn, packLanes(drawn, null), {
    groupBy: "device",
    ...all,
    ...options,
  });
  expect(items.map((item) => item.y)).toEqual(
    items.map((_, at) => items.slice(0, at).reduce((sum, item) => sum + item.height, 0)),
  );
  expect(height).toBe(items.reduce((sum, item) => sum + item.height, 0));
  return items.map((item) =>
    item.type === "group"
      ? `> ${item.label} ${item.events}`
      : item.type === "lane"
        ? item.label
        : [item.context, trackName(item)].join(" | "),
  );
}

describe("memory", () => {
  it("is under the lanes of its device, or at the end if that has no lanes", () => {
    expect(outline({})).toEqual([
      ...["> ps 0 · CPU:0 1", "ops", " | cpu"],
      ...["> worker 1 2", "> CPU:0 1", "ops", " | gpu_host_bfc", "> GPU:0 1", "ops", " | GPU_0_bfc"],
      "worker 1 | device 7",
    ]);
  });

  it("names its device when no header does", () => {
    const every = ["ps 0 · CPU:0 | cpu", "worker 1 · CPU:0 | gpu_host_bfc", "worker 1 · GPU:0 | GPU_0_bfc"];
    for (const groupBy of ["kind", "none"] as const)
      expect(outline({ groupBy }).slice(-4)).toEqual([...every, "worker 1 | device 7"]);
  });

  it("folds with its group, and hides by itself and with it", () => {
    expect(outline({ collapsed: new Set([WORKER]) }).slice(3)).toEqual([
      "> worker 1 2",
      "worker 1 | device 7",
    ]);
    expect(outline({ hidden: new Set([`${WORKER}\0${GPU}`]) })).not.toContain(" | GPU_0_bfc");
    expect(outline({ hidden: new Set([`memory\0${WORKER}\0${GPU}\0GPU_0_bfc`]) }).slice(-3)).toEqual([
      "> GPU:0 1",
      "ops",
      "worker 1 | device 7",
    ]);
  });

  it("is found by its allocator, its device and the word memory", () => {
    expect(outline({ filter: "bfc" })).toEqual([
      ...["> worker 1 0", "> CPU:0 0", " | gpu_host_bfc", "> GPU:0 0", " | GPU_0_bfc"],
    ]);
    expect(outline({ filter: "worker memory" }).at(-1)).toBe("worker 1 | device 7");
    expect(outline({ filter: "worker gpu ops" })).toEqual(["> worker 1 1", "> GPU:0 1", "ops"]);
  });

  it("has its tensors below it, which hide and are found by themselves", () => {
    const tensors = () => ({ rows: [], height: 60, shown: 0, leftOut: 0 });
    const below = ["> ps 0 · CPU:0 1", "ops", " | cpu", " | cpu"];
    expect(outline({ tensors }).slice(0, 4)).toEqual(below);
    const hidden = new Set([`tensors\0${PS}\0${PS}/device:CPU:0\0cpu`]);
    expect(outline({ tensors, hidden }).slice(0, 4)).toEqual([...below.slice(0, 3), "> worker 1 2"]);
    expect(outline({ tensors, filter: "cpu tensors" }).slice(0, 2)).toEqual(["> ps 0 · CPU:0 0", " | cpu"]);
    expect(outline({ tensors }).filter((each) => each.endsWith("device 7"))).toHaveLength(2);
  });

  it("is found by its position", () => {
    const { items } = arrange(drawn, packLanes(drawn, null), {
      groupBy: "none",
      ...{
        collapsed: new Set<string>(),
        hidden: new Set<string>(),
        pinned: [],
        filter: "",
        folded: () => null,
        tracks,
        counters: [],
        tensors: () => null,
      },
    });
    const at = itemAt({ items, height: 999 }, items[4].y + 5);
    expect(at).toEqual({ item: items[4], row: 0 });
  });
});
