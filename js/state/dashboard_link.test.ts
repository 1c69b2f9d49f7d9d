import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { joinLink, type LinkMessage } from "../host/channel";
import { StaticHost } from "../host/static_host";
import { Actions } from "../input/actions";
import { NOWHERE } from "../input/testing/nowhere";
import { laneKey } from "../model/lanes/layout";
import { makeDrawn } from "../model/wire/testing/synthetic";
import { DashboardLink } from "./dashboard_link";
import { Store } from "./store";

const MS = 1e6;
const TWO = [
  { start: 0, duration: 10 * MS, name: "net/a", op: "MatMul", step: 0 },
  { start: 20 * MS, duration: 10 * MS, name: "net/b", op: "Add", step: 1 },
];
let frames: (() => void)[] = [];
let count = 0;

/** Let the next frame come. */
function frame(): void {
  const due = frames;
  frames = [];
  for (const draw of due) draw();
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  frames = [];
  vi.stubGlobal("requestAnimationFrame", (draw: () => void) => frames.push(draw));
  vi.stubGlobal("cancelAnimationFrame", () => {});
  // A user who wants no motion: where a view goes, it is at once.
  vi.stubGlobal("matchMedia", () => ({ matches: true }));
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** A timeline of two steps of 10 ms each, and what somebody else on its link hears. */
function linked(made: Parameters<typeof makeDrawn>[0] = TWO) {
  const drawn = makeDrawn(made);
  drawn.steps = [
    { step: 0, start: 0, end: 10 * MS, events: 1 },
    { step: 1, start: 20 * MS, end: 30 * MS, events: 1 },
  ];
  const { signal } = new AbortController();
  const host = new StaticHost({ drawn: vi.fn(), details: vi.fn() }, {});
  const store = new Store(drawn, host, signal);
  store.setSize(1000, 300);
  store.setStep(null);
  const id = `timeline ${count++}`;
  const heard: LinkMessage[] = [];
  const actions = new Actions(store, NOWHERE);
  new DashboardLink(store, actions, id);
  const publish = joinLink(id, (message) => heard.push(message), signal);
  frame();
  const first = heard.splice(0);
  return { store, heard, publish, first };
}

describe("a linked timeline", () => {
  it("sends its view at the start and on request", () => {
    const { store, heard, publish, first } = linked();
    expect(first).toMatchObject([{ kind: "view", ...store.viewport }]);
    publish({ kind: "ask" });
    frame();
    expect(heard).toMatchObject([{ kind: "view", ...store.viewport }]);
  });

  it("sends the step it shows alone, and again on request", () => {
    const { store, heard, publish } = linked();
    store.setStep(1);
    publish({ kind: "ask" });
    store.setStep(0);
    store.setStep(null);
    const [first, second] = store.run.steps.map(({ step }) => step);
    expect(heard.filter(({ kind }) => kind === "step")).toMatchObject(
      [second, second, first, null].map((step) => ({ step })),
    );
  });

  it("sends its view once a frame", () => {
    const { store, heard } = linked();
    for (let ms = 1; ms < 6; ms++) store.setViewport({ start: ms * MS, end: 20 * MS });
    expect(heard).toEqual([]);
    frame();
    expect(heard).toMatchObject([{ kind: "view", start: 5 * MS, end: 20 * MS }]);
  });

  it("follows others without an echo", () => {
    const { store, heard, publish } = linked();
    publish({ kind: "view", start: 2 * MS, end: 4 * MS });
    frame();
    expect(store.viewport).toEqual({ start: 2 * MS, end: 4 * MS });
    // A request beyond the run is clamped, and that is not sent either.
    publish({ kind: "view", start: -50 * MS, end: 90 * MS });
    frame();
    expect(heard).toEqual([]);
  });

  it("goes back over a movement of others as a whole", () => {
    const { store, publish } = linked();
    const before = store.viewport;
    for (const start of [1, 2, 3]) publish({ kind: "view", start: start * MS, end: 9 * MS });
    expect(store.history.back(store.present)).toMatchObject(before);
  });

  it("changes the step shown on request", () => {
    const { store, publish } = linked();
    store.setStep(0);
    publish({ kind: "select", start: 22 * MS, end: 23 * MS });
    expect(store.step).toBe(1);
    publish({ kind: "view", start: 5 * MS, end: 25 * MS });
    expect(store.step).toBeNull();
  });

  it("selects events and shows the time around them, without an echo", () => {
    const { store, heard, publish } = linked();
    publish({ kind: "select", events: [1], start: 20 * MS, end: 30 * MS });
    expect(store.selection).toEqual({ events: [1] });
    expect(store.viewport.start).toBeGreaterThan(15 * MS);
    expect(heard).toEqual([]);
  });

  it("selects a range on lanes, and only shows one on all of them", () => {
    const { store, publish } = linked();
    publish({ kind: "select", start: 1 * MS, end: 2 * MS, lanes: [0] });
    expect(store.range).toEqual({ start: 1 * MS, end: 2 * MS, lanes: [0], step: null });
    publish({ kind: "select", start: 3 * MS, end: 4 * MS });
    expect(store.selection).toBeNull();
    expect(store.viewport.start).toBeLessThan(3 * MS);
  });

  it("scrolls to the lanes that a range is selected on", () => {
    const many = Array.from({ length: 60 }, (_, lane) => ({ start: 0, duration: 10 * MS, lane }));
    const { store, publish } = linked(many);
    const isInView = (lane: number) => {
      const item = store.placement.lane(lane);
      return !!item && item.y >= store.scroll && item.y + item.height <= store.scroll + store.height;
    };
    expect(isInView(40)).toBe(false);
    publish({ kind: "select", start: 1 * MS, end: 2 * MS, lanes: [41, 40] });
    expect(isInView(40)).toBe(true);
    const { scroll } = store;
    // A selection in view does not scroll.
    publish({ kind: "select", start: 3 * MS, end: 4 * MS, lanes: [41] });
    expect(store.scroll).toBe(scroll);
    publish({ kind: "select", start: 3 * MS, end: 4 * MS, lanes: [0] });
    expect(isInView(0)).toBe(true);
  });

  it("pins the lanes of selected events that lie far apart together, until others are selected", () => {
    const many = Array.from({ length: 60 }, (_, lane) => ({ start: lane, duration: 10 * MS, lane }));
    const { store, publish } = linked(many);
    const first = () => store.arrangement.items.flatMap((item) => (item.type === "lane" ? item.lane : []));
    store.lanes.pin(laneKey(store.drawn.lanes[7]));
    publish({ kind: "select", events: [2, 40], start: 0, end: MS });
    expect(first().slice(0, 4)).toEqual([2, 40, 7, 0]);
    expect(store.scroll).toBe(0);
    publish({ kind: "select", events: [41, 40], start: 0, end: MS });
    expect(first().slice(0, 3)).toEqual([7, 0, 1]);
    for (const lane of [40, 41]) {
      const { y = -1, height = 0 } = store.placement.lane(lane) ?? {};
      expect(y).toBeGreaterThanOrEqual(store.scroll);
      expect(y + height).toBeLessThanOrEqual(store.scroll + store.height);
    }
  });

  it("shows a device whose lanes are filtered out", () => {
    const { store, publish } = linked();
    store.setOption("lane_filter", "no lane is called so");
    expect(store.placement.lane(0)).toBeUndefined();
    publish({ kind: "select", start: 1 * MS, end: 2 * MS, lanes: [0] });
    expect(store.placement.lane(0)).toBeDefined();
  });

  it("sends a selection made here, once", () => {
    const { store, heard } = linked();
    store.select({ events: [1] });
    store.emit("selection");
    store.select(null);
    expect(heard).toMatchObject([
      { kind: "select", events: [1], name: "net/b", op: "Add" },
      { kind: "select" },
    ]);
  });

  it("sends the event under the pointer", () => {
    const { store, heard } = linked();
    store.setHover({ id: 0, count: 1, x: 5, y: 5 }, 1);
    store.setHover({ id: 0, count: 1, x: 6, y: 5 }, 2);
    store.setHover(null, null);
    expect(heard).toMatchObject([
      { kind: "hover", name: "net/a", op: "MatMul" },
      { kind: "hover", name: null },
    ]);
  });

  it("dims other names once a pointer elsewhere rests on one", () => {
    const { store, publish } = linked();
    const { shade } = store.painting;
    publish({ kind: "hover", name: "MatMul" });
    expect(store.painting.shade).toBe(shade);
    vi.advanceTimersByTime(60);
    expect([...store.painting.shade].map((each) => each >= 128)).toEqual([false, true]);
    publish({ kind: "hover", name: null });
    vi.advanceTimersByTime(60);
    expect(store.painting.shade).toEqual(shade);
  });
});
