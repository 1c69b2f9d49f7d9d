import { beforeEach, expect, it, vi } from "vitest";
import { StaticHost } from "../host/static_host";
import { Actions } from "../input/actions";
import { NOWHERE } from "../input/testing/nowhere";
import { makeDrawn } from "../model/wire/testing/synthetic";
import { Store } from "./store";

beforeEach(() => {
  // A user who wants no motion.
  vi.stubGlobal("matchMedia", () => ({ matches: true }));
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

it("keeps of the selection what lies in the step that is chosen, and no tooltip", () => {
  const { store, host } = made();
  store.select({ events: [1] });
  store.setHover({ id: 1, count: 1, x: 5, y: 5 }, 105);
  store.setStep(1);
  expect([store.selected, store.hover, store.cursor]).toEqual([1, null, null]);
  store.setStep(null);
  expect(store.selected).toBe(1);
  store.setStep(2);
  expect(host.get("selection")).toBeNull();
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
