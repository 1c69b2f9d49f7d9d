import { describe, expect, it } from "vitest";
import { packLanes } from "../lod/rows";
import { type Made, makeDrawn, makeLane, randomNumbers } from "../wire/testing/synthetic";
import { withClocks } from "./clock_bounds";
import { commonLocation } from "./labels";
import { type Arrangement, type ArrangeOptions, arrange, itemAt, stickyGroup } from "./layout";
import { trackName } from "./tracks";

const WORKER_0 = "/job:worker/replica:0/task:0";
const WORKER_1 = "/job:worker/replica:0/task:1";
const PS = "/job:ps/replica:0/task:0";
const lanes = [
  { ...makeLane("ops", `${PS}/device:CPU:0`), kind: "op" },
  { ...makeLane("recv", `${PS}/device:CPU:0`), kind: "transfer" },
  { ...makeLane("ops", `${WORKER_0}/device:GPU:0`), kind: "op" },
  { ...makeLane("stream:13", `${WORKER_0}/device:GPU:0`), kind: "kernel" },
  { ...makeLane("ops", `${WORKER_1}/device:CPU:0`), kind: "op" },
  { ...makeLane("memcpy H2D", `${WORKER_1}/device:GPU:0`), kind: "memcpy" },
  { ...makeLane("recv", `${WORKER_1}/device:GPU:0`), kind: "transfer" },
];
// One event a lane, but two that overlap in lane 3 and none in lane 6.
const made: Made[] = [0, 1, 2, 3, 3, 4, 5].map((lane) => ({ start: lane, duration: 50, lane }));
const drawn = makeDrawn(made, lanes);

function arranged(options: Partial<ArrangeOptions>, of = drawn): Arrangement {
  const all = {
    groupBy: "device" as const,
    collapsed: new Set<string>(),
    hidden: new Set<string>(),
    pinned: [],
    filter: "",
    folded: () => null,
    tracks: [],
    counters: [],
    tensors: () => null,
  };
  return arrange(of, packLanes(of, null), { ...all, ...options });
}

/** One line an item: "worker 1 > GPU:0 > copy H2D" by indents. */
function outline(arrangement: Arrangement): string[] {
  return arrangement.items.map((item) =>
    item.type === "group"
      ? `${"  ".repeat(item.level)}${item.collapsed ? "+" : "-"} ${item.label} (${item.events})`
      : item.type !== "lane"
        ? `    ${[item.context, trackName(item)].filter(Boolean).join(" | ")}: ${item.type}`
        : `    ${[item.context, item.label].filter(Boolean).join(" | ")}${item.pinned ? " pinned" : ""}`,
  );
}

const key = (lane: number) => `${lanes[lane].task}\0${lanes[lane].device}\0${lanes[lane].lane}`;

describe("arrange", () => {
  it("groups by task and device, and omits redundant headers", () => {
    const arrangement = arranged({});
    expect(outline(arrangement)).toEqual([
      "- ps 0 · CPU:0 (2)",
      "    ops",
      "    receive",
      "- worker 0 · GPU:0 (3)",
      "    ops",
      "    stream 13",
      "- worker 1 (2)",
      "  - CPU:0 (1)",
      "    ops",
      "  - GPU:0 (1)",
      "    copy H2D",
    ]);
    expect(arrangement.items[0]).toMatchObject({
      path: `${PS}/device:CPU:0`,
      lanes: [0, 1],
      y: 0,
      height: 24,
    });
    expect(arrangement.items[5]).toMatchObject({ key: key(3), lane: 3, height: 2 * 17 + 7 });
  });

  it("shows the clock of a task once, at the topmost header of its lanes", () => {
    const bounds = [WORKER_0, PS, WORKER_1].map((task, place) => ({ task, low: -place, high: place }));
    const timed = { ...drawn, lanes: withClocks(drawn.lanes, bounds) };
    const clocks = (options: Partial<ArrangeOptions>) =>
      arranged(options, timed).items.flatMap((item) =>
        item.type === "group" ? `${item.label} ${item.clock?.high ?? "-"}` : [],
      );
    const everywhere = ["ps 0 · CPU:0 1", "worker 0 · GPU:0 -", "worker 1 2", "CPU:0 -", "GPU:0 -"];
    expect(clocks({})).toEqual(everywhere);
    // A header's clock counts hidden lanes as well.
    expect(clocks({ hidden: new Set([key(0), key(1), key(2), key(3)]) })).toEqual(everywhere.slice(2));
    expect(clocks({ groupBy: "kind" })).toEqual(["op -", "transfer -", "kernel -", "memcpy 2"]);
  });

  it("needs no task header for a single task", () => {
    const one = lanes.slice(4);
    const local = makeDrawn(
      [0, 1, 2].map((lane) => ({ start: lane, duration: 5, lane })),
      one,
    );
    expect(outline(arranged({}, local))).toEqual([
      "- worker 1 · CPU:0 (1)",
      "    ops",
      "- worker 1 · GPU:0 (2)",
      "    copy H2D",
      "    receive",
    ]);
  });

  it("leaves no gaps and no overlaps, whatever the options", () => {
    const random = randomNumbers(1);
    for (let n = 0; n < 200; n++) {
      const some = (list: string[]) => new Set(list.filter(() => random() < 0.2));
      const every = [
        ...lanes.map((_, lane) => key(lane)),
        ...lanes.map((lane) => `${lane.task}\0${lane.device}`),
        WORKER_1,
      ];
      const groupBy = (["device", "kind", "none"] as const)[n % 3];
      const filter = random() < 0.3 ? "gpu" : "";
      const options = {
        groupBy,
        collapsed: some(every),
        hidden: some(every),
        pinned: [...some(every)],
        filter,
      };
      const { items, height } = arranged(options);
      let y = 0;
      for (const item of items) {
        expect(item.y).toBe(y);
        y += item.height;
        if (item.type === "group") expect(item.lanes.length).toBeGreaterThan(0);
      }
      expect(height).toBe(y);
      const shown = items.flatMap((item) =>
        item.type === "lane" ? [item.lane] : item.type === "group" && item.collapsed ? item.lanes : [],
      );
      expect(new Set(shown).size).toBe(shown.length);
      for (const lane of shown) expect(options.hidden.has(key(lane))).toBe(false);
    }
  });

  it("collapses, hides and pins by key", () => {
    const collapsed = arranged({ collapsed: new Set([WORKER_1, `${PS}\0${PS}/device:CPU:0`]) });
    expect(outline(collapsed)).toEqual([
      "+ ps 0 · CPU:0 (2)",
      "- worker 0 · GPU:0 (3)",
      "    ops",
      "    stream 13",
      "+ worker 1 (2)",
    ]);
    expect(collapsed.items[4]).toMatchObject({ lanes: [4, 5], height: 24 });
    const hidden = arranged({ hidden: new Set([key(2), key(3), `${WORKER_1}\0${WORKER_1}/device:CPU:0`]) });
    expect(outline(hidden)).toEqual([
      "- ps 0 · CPU:0 (2)",
      "    ops",
      "    receive",
      "- worker 1 (1)",
      "  - GPU:0 (1)",
      "    copy H2D",
    ]);
    const pinned = arranged({ pinned: [key(5), key(0), key(6), "gone"], filter: "worker" });
    expect(outline(pinned).slice(0, 3)).toEqual([
      "    worker 1 · GPU:0 | copy H2D pinned",
      "- worker 0 · GPU:0 (3)",
      "    ops",
    ]);
    expect(outline(pinned)).not.toContain("  - GPU:0 (1)");
  });

  it("groups by kind or not at all, and then labels lanes with their device", () => {
    expect(outline(arranged({ groupBy: "kind" }))).toEqual([
      "- op (3)",
      "    ps 0 · CPU:0 | ops",
      "    worker 0 · GPU:0 | ops",
      "    worker 1 · CPU:0 | ops",
      "- transfer (1)",
      "    ps 0 · CPU:0 | receive",
      "- kernel (2)",
      "    worker 0 · GPU:0 | stream 13",
      "- memcpy (1)",
      "    worker 1 · GPU:0 | copy H2D",
    ]);
    expect(outline(arranged({ groupBy: "none", filter: "ops" }))).toEqual([
      "    ps 0 · CPU:0 | ops",
      "    worker 0 · GPU:0 | ops",
      "    worker 1 · CPU:0 | ops",
    ]);
  });

  it.each([
    ["", 6],
    ["GPU", 3],
    ["worker gpu", 3],
    ["task:1 copy", 1],
    ["memcpy", 1],
    ["worker 0", 2],
    ["nothing like it", 0],
  ])("filters by all words of %j", (filter, count) => {
    expect(arranged({ filter, groupBy: "none" }).items.length).toBe(count);
  });
});

it("keeps the header of the topmost lane in sight until the next one pushes it out", () => {
  const arrangement = arranged({});
  const [first, second] = arrangement.items.filter((item) => item.type === "group");
  const sticky = (scroll: number) => stickyGroup(arrangement, scroll);
  expect(sticky(0)).toBeNull();
  expect(sticky(1)).toEqual({ item: first, top: 0 });
  expect(sticky(second.y - 10)).toEqual({ item: first, top: -14 });
  expect(sticky(second.y)).toEqual({ item: first, top: -24 });
  expect(sticky(second.y + 1)).toEqual({ item: second, top: 0 });
});

describe("itemAt", () => {
  it("finds items and rows by height", () => {
    const arrangement = arranged({});
    const { items, height } = arrangement;
    for (let y = 0; y < height; y += 0.5) {
      const found = itemAt(arrangement, y);
      const item = items.find((each) => each.y <= y && y < each.y + each.height);
      expect(found?.item).toBe(item);
    }
    const lane = items[5];
    expect(itemAt(arrangement, lane.y + 19)?.row).toBe(0);
    expect(itemAt(arrangement, lane.y + 20)?.row).toBe(1);
    expect(itemAt(arrangement, lane.y + 40)?.row).toBe(1);
    expect([
      itemAt(arrangement, -1),
      itemAt(arrangement, height),
      itemAt({ items: [], height: 0 }, 0),
    ]).toEqual([null, null, null]);
  });
});

describe("labels", () => {
  it("are those of what lanes have in common", () => {
    const [cpu, gpu] = ["CPU:0", "GPU:0"].map((name) => `${PS}/device:${name}`);
    const one = { task: PS, device: gpu, lane: "stream:13" };
    const beside = { ...one, lane: "memset" };
    const other = { ...one, device: cpu };
    const far = { task: WORKER_1, device: "", lane: "" };
    expect([[one], [one, beside], [one, other], [one, far], [far], []].map(commonLocation)).toEqual([
      "ps 0 · GPU:0 · stream 13",
      "ps 0 · GPU:0",
      "ps 0",
      "",
      "worker 1",
      "",
    ]);
  });
});
