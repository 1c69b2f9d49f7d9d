import { beforeEach, expect, it, vi } from "vitest";
import { StaticHost } from "../host/static_host";
import { Actions } from "../input/actions";
import { NOWHERE } from "../input/testing/nowhere";
import { makeDrawn, makeLane } from "../model/wire/testing/synthetic";
import { Store } from "./store";

beforeEach(() => {
  // A user who wants no motion.
  vi.stubGlobal("matchMedia", () => ({ matches: true }));
  vi.stubGlobal("cancelAnimationFrame", () => {});
});

/** A timeline of two steps, and of one event outside of them (0). */
function made() {
  const drawn = makeDrawn([
    { start: 0, duration: 400, step: -1 },
    { start: 100, duration: 90, step: 0 },
    { start: 200, duration: 80, step: 1 },
  ]);
  drawn.steps = [
    { step: -1, start: 0, end: 400, events: 1 },
    { step: 0, start: 100, end: 190, events: 1 },
    { step: 1, start: 200, end: 280, events: 1 },
  ];
  const host = new StaticHost({ drawn: vi.fn(), details: vi.fn() }, {});
  const store = new Store(drawn, host, new AbortController().signal);
  store.setSize(1000, 300);
  store.setStep(null);
  return {
    host,
    store,
    actions: new Actions(store, NOWHERE),
  };
}

it("replaces the selection by the chosen step, and hides the tooltip", () => {
  const { store, host } = made();
  store.select({ events: [1] });
  store.setHover({ id: 1, count: 1, x: 5, y: 5 }, 105);
  store.setStep(1);
  expect([store.selected, store.hover, store.cursor]).toEqual([null, null, null]);
  store.select({ events: [1] });
  store.setStep(null);
  expect(store.selected).toBe(1);
  store.select({ events: [0, 1] });
  store.setStep(null, true);
  expect(host.get("selection")).toBeNull();
});

it("follows a selection that is set elsewhere, and keeps all of it", () => {
  const { store, host, actions } = made();
  store.setStep(1);
  host.set("selection", { events: [2, 1] });
  actions.revealSelection();
  expect([store.step, store.selection]).toEqual([2, { events: [2, 1] }]);
});

it("shows all steps as they came for an event that aligned ones leave out", () => {
  const { store, host, actions } = made();
  store.setStep(null, true);
  host.set("selection", { events: [0] });
  actions.revealSelection();
  expect([store.aligned, store.step, store.selected]).toEqual([null, null, 0]);
});

it("shows the whole step first, then the whole run", async () => {
  const { store, actions } = made();
  store.setStep(1);
  const { viewport } = store;
  await Promise.resolve();
  store.setViewport({ start: 120, end: 140 }, "zoom");
  actions.whole();
  expect([store.step, store.viewport]).toEqual([1, viewport]);
  await Promise.resolve();
  actions.whole();
  expect(store.step).toBeNull();
  actions.back();
  expect([store.step, store.viewport]).toEqual([1, viewport]);
});

it("keeps the zoom when a key selects a short event", () => {
  const { store, actions } = made();
  store.setViewport({ start: 0, end: 400 });
  store.setSize(4, 300);
  store.select({ events: [0] });
  actions.stepInLane(1);
  expect([store.selected, store.viewport]).toEqual([1, { start: 0, end: 400 }]);
});

it("keeps the pinned and hidden lanes of aligned steps apart from the run's", () => {
  const { store } = made();
  const { lanes } = store;
  lanes.pin("run");
  lanes.hide("hidden");
  store.setStep(null, true);
  expect([lanes.pinned, lanes.hidden.size]).toEqual([[], 0]);
  lanes.pin("step");
  store.setStep(1);
  expect([lanes.pinned, [...lanes.hidden]]).toEqual([["run"], ["hidden"]]);
  store.setStep(null, true);
  expect([lanes.pinned, lanes.hidden.size]).toEqual([["step"], 0]);
});

it("fits several events as a whole, and keeps the zoom if they are in view", () => {
  const { store, actions } = made();
  store.setViewport({ start: 90, end: 110 });
  store.select({ events: [1, 2] });
  actions.revealSelection();
  expect(store.viewport.start).toBeLessThanOrEqual(100);
  expect(store.viewport.end).toBeGreaterThanOrEqual(280);
  store.setViewport({ start: 50, end: 300 });
  actions.revealSelection();
  expect(store.viewport).toEqual({ start: 50, end: 300 });
});

/** A store with lanes of two rows each, in a picture that is lower than they are. */
function many() {
  const drawn = makeDrawn(
    Array.from({ length: 40 }, (_, at) => ({ start: at % 2, duration: 90, lane: Math.floor(at / 2) })),
  );
  const host = new StaticHost({ drawn: vi.fn(), details: vi.fn() }, {});
  const store = new Store(drawn, host, new AbortController().signal);
  store.setSize(1000, 100);
  return { store, actions: new Actions(store, NOWHERE) };
}

it("scrolls to the target of a zoom", () => {
  const { store, actions } = many();
  store.select({ events: [39] });
  actions.fitSelection();
  const top = store.placement.top(39) ?? -1;
  expect(top).toBeGreaterThanOrEqual(store.scroll);
  expect(top).toBeLessThan(store.scroll + store.height);
  expect(store.scroll).toBeGreaterThan(100);
});

it("folds the lane of the selection, or the one under the pointer, and all lanes at once", () => {
  const { store, actions } = many();
  const folded = () =>
    store.arrangement.items.flatMap((item) => (item.type === "lane" && item.folded ? [item.lane] : []));
  store.select({ events: [4] });
  actions.fold();
  expect(folded()).toEqual([store.drawn.lane[4]]);
  actions.fold();
  expect(folded()).toEqual([]);
  const lanes = store.arrangement.items.filter((item) => item.type === "lane");
  store.pointed = lanes[7].key;
  actions.fold();
  expect(folded()).toEqual([lanes[7].lane]);
  store.lanes.foldLanes(store.arrangement);
  expect(folded().length).toBe(20);
  store.lanes.foldLanes(store.arrangement);
  expect(folded()).toEqual([]);
});

it("goes through the events that a search finds and then through own bars, and round", () => {
  const { host, store, actions } = made();
  host.set("tracks", [
    {
      name: "own",
      starts: [10, 10, 5000],
      lengths: [20, 20, 1],
      names: ["a", "b", "later"],
      rows: [0, 1, 0],
    },
  ]);
  store.setSearch("-nothing");
  const seen = (direction: 1 | -1) => {
    actions.nextMatch(direction);
    return store.selected ?? store.ownBar?.track.names[store.ownBar.at];
  };
  expect([1, 1, 1, 1, 1, 1].map(() => seen(1))).toEqual([0, 1, 2, "a", "b", 0]);
  expect([1, 1, 1].map(() => seen(-1))).toEqual(["b", "a", 2]);
});

it("sorts lanes by busy time in a step in which some have no events", () => {
  const device = (at: number) => makeLane("ops", `/job:a/replica:0/task:0/device:GPU:${at}`);
  const drawn = makeDrawn(
    [
      { start: 0, duration: 90, step: 0, lane: 0 },
      { start: 100, duration: 50, step: 1, lane: 0 },
      { start: 100, duration: 80, step: 1, lane: 1 },
    ],
    [device(0), device(1)],
  );
  drawn.steps = [0, 1].map((step) => ({ step, start: 100 * step, end: 100 * step + 90, events: step + 1 }));
  const host = new StaticHost({ drawn: vi.fn(), details: vi.fn() }, {});
  const store = new Store(drawn, host, new AbortController().signal);
  const lanes = () => store.arrangement.items.flatMap((item) => (item.type === "lane" ? [item.lane] : []));
  store.setStep(1);
  store.lanes.sortByBusy(true);
  expect(lanes()).toEqual([1, 0]);
  store.setStep(0);
  expect(lanes()).toEqual([0]);
});

it("takes back at once what one action has moved twice", async () => {
  const { store, actions } = made();
  const before = store.viewport;
  actions.show({ start: 100, end: 190 });
  actions.show({ start: 200, end: 280 });
  await Promise.resolve();
  actions.back();
  expect(store.viewport).toEqual(before);
});

it.each([
  ["alone", {}, [450, 650]],
  ["of two", { side: 0 }, [-10, 1010]],
])("opens a timeline %s at the range that the trace names", (_, pair, view) => {
  const drawn = { ...makeDrawn([{ start: 0, duration: 1000 }]), opens: [450, 650] as [number, number] };
  const host = Object.assign(new StaticHost({ drawn: vi.fn(), details: vi.fn() }, {}), { pair });
  const { viewport } = new Store(drawn, host, new AbortController().signal);
  expect(viewport.start).toBeGreaterThanOrEqual(view[0] - 10);
  expect(viewport.end).toBeLessThanOrEqual(view[1] + 10);
  expect(viewport.end - viewport.start).toBeGreaterThanOrEqual(view[1] - view[0]);
});
