import { beforeEach, expect, it, vi } from "vitest";
import { StaticHost } from "../host/static_host";
import { Actions } from "../input/actions";
import { NOWHERE } from "../input/testing/nowhere";
import { makeDrawn } from "../model/wire/testing/synthetic";
import { draftOf, keepAnnotation, removeAnnotation, shownAnnotations } from "./annotations";
import { Store } from "./store";

beforeEach(() => {
  vi.stubGlobal("matchMedia", () => ({ matches: true }));
  vi.stubGlobal("cancelAnimationFrame", () => {});
});

function made() {
  const drawn = makeDrawn([
    { start: 0, duration: 90, step: 0 },
    { start: 100, duration: 90, step: 1 },
    { start: 120, duration: 30, step: 1 },
  ]);
  drawn.steps = [
    { step: 0, start: 0, end: 90, events: 1 },
    { step: 1, start: 100, end: 190, events: 2 },
  ];
  const host = new StaticHost({ drawn: vi.fn(), details: vi.fn() }, {});
  const store = new Store(drawn, host, new AbortController().signal);
  store.setSize(1000, 300);
  store.setStep(null);
  return { host, store, actions: new Actions(store, NOWHERE) };
}

it("is about the selection, else the measured interval, else the time at the pointer", () => {
  const { store } = made();
  expect(draftOf(store)).toBeNull();
  store.setHover(null, 150.4);
  expect(draftOf(store)).toMatchObject({ kind: "mark", start: 150, end: 150, lanes: null });
  store.setHover(null, 250.4);
  expect(draftOf(store)).toBeNull();
  store.setMarks([{ start: 5, end: 9, kept: true }]);
  expect(draftOf(store)).toMatchObject({ kind: "mark", start: 5, end: 9 });
  store.select({ events: [1] });
  expect(draftOf(store)).toMatchObject({ kind: "event", start: 100, end: 190, event: 1 });
  store.select({ events: [2, 0] });
  expect(draftOf(store)).toMatchObject({ kind: "range", start: 0, end: 150, event: null });
  store.select({ start: 10.2, end: 20.7, lanes: [0], step: null });
  expect(draftOf(store)).toMatchObject({ kind: "range", start: 10, end: 21 });
});

it("edits an existing annotation, and annotates the measured interval", () => {
  const { store, host } = made();
  store.setMarks([{ start: 5, end: 9, kept: true }]);
  keepAnnotation(store, { ...draftOf(store)!, name: "first" });
  expect(store.marks).toEqual([]);
  store.select({ events: [0] });
  keepAnnotation(store, { ...draftOf(store)!, name: "second" });
  keepAnnotation(store, { ...draftOf(store)!, text: "more" });
  expect(host.get("annotations").map(({ name, text }) => [name, text])).toEqual([
    ["second", "more"],
    ["first", ""],
  ]);
  removeAnnotation(store, draftOf(store)!.id);
  expect(host.get("annotations").map(({ name }) => name)).toEqual(["first"]);
});

it("shows those of the step, and goes to another step for one of another", () => {
  const { store, actions } = made();
  store.select({ events: [2] });
  keepAnnotation(store, { ...draftOf(store)!, name: "in step 1" });
  store.select({ start: 10, end: 20, lanes: null, step: null });
  keepAnnotation(store, { ...draftOf(store)!, name: "in step 0" });
  store.setStep(0);
  expect(shownAnnotations(store).map(({ name }) => name)).toEqual(["in step 0"]);
  actions.visitAnnotation(store.host.get("annotations").find(({ name }) => name === "in step 1")!);
  expect([store.step, store.selection]).toEqual([1, { events: [2] }]);
  actions.visitAnnotation(store.host.get("annotations").find(({ name }) => name === "in step 0")!);
  expect([store.step, store.range]).toMatchObject([null, { start: 10, end: 20 }]);
  store.setStep(null, true);
  expect(shownAnnotations(store).map(({ name }) => name)).toEqual(["in step 1"]);
});
