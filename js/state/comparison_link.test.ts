import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { joinLink, type LinkMessage } from "../host/channel";
import { StaticHost } from "../host/static_host";
import { Actions } from "../input/actions";
import { NOWHERE } from "../input/testing/nowhere";
import { makeDrawn } from "../model/wire/testing/synthetic";
import { ComparisonLink } from "./comparison_link";
import { Store } from "./store";

const MS = 1e6;
const EXTENT = 40 * MS;
let frames: (() => void)[] = [];
let count = 0;

/** Let the next frames come, until nothing moves. */
function settle(): void {
  for (let turn = 0; frames.length && turn < 20; turn++) {
    const due = frames;
    frames = [];
    for (const draw of due) draw();
  }
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

/** An element as far as a pairing needs it: properties of its style. */
function rootElement(): HTMLElement {
  const properties = new Map<string, string>();
  const style = {
    getPropertyValue: (name: string) => properties.get(name) ?? "",
    setProperty: (name: string, value: string) => properties.set(name, value),
  };
  return { style } as unknown as HTMLElement;
}

/** One of two timelines: of a run that begins with `first`. */
function timeline(id: string, side: number, first: string) {
  const drawn = makeDrawn([
    { start: 0, duration: MS, name: first, op: "Const", lane: 0 },
    { start: (2 + 10 * side) * MS, duration: 5 * MS, name: "net/a", op: "MatMul", lane: 1 },
    { start: (8 + 20 * side) * MS, duration: 2 * MS, name: "net/b", op: "Add", lane: side },
  ]);
  const { signal } = new AbortController();
  const host = Object.assign(new StaticHost({ drawn: vi.fn(), details: vi.fn() }, {}), {
    pair: { side, extent: EXTENT },
  });
  const store = new Store(drawn, host, signal);
  store.setSize(1000, 300);
  const actions = new Actions(store, NOWHERE);
  const root = rootElement();
  new ComparisonLink(store, actions, id, side, root);
  return { store, root };
}

function pair() {
  const id = `pair ${count++}`;
  const a = timeline(id, 0, "begin");
  const b = timeline(id, 1, "start");
  settle();
  const heard: LinkMessage[] = [];
  const publish = joinLink(id, (message) => heard.push(message), new AbortController().signal);
  return { a, b, heard, publish };
}

describe("two timelines that are compared", () => {
  it("show the same time at first, that of the longer one", () => {
    const { a, b } = pair();
    expect(a.store.viewport).toEqual(b.store.viewport);
    expect(a.store.bounds).toEqual({ start: 0, end: EXTENT });
    expect(a.store.whole).toEqual({ start: 0, end: 10 * MS });
  });

  it("move together, and neither answers the other", () => {
    const { a, b, heard } = pair();
    a.store.setViewport({ start: 3 * MS, end: 30 * MS });
    settle();
    expect(b.store.viewport).toEqual({ start: 3 * MS, end: 30 * MS });
    b.store.setViewport({ start: 1 * MS, end: 2 * MS });
    settle();
    expect(a.store.viewport).toEqual({ start: 1 * MS, end: 2 * MS });
    expect(heard.filter(({ kind }) => kind === "view")).toHaveLength(2);
  });

  it("select a range on the lanes of the same names", () => {
    const { a, b } = pair();
    const range = { start: MS, end: 2 * MS, step: null };
    a.store.select({ ...range, lanes: [1] });
    expect(b.store.selection).toEqual({ ...range, lanes: [1] });
    a.store.select({ ...range, lanes: null });
    expect(b.store.selection).toEqual({ ...range, lanes: null });
  });

  it("go to a row's events, each to its own", () => {
    const { a, b, publish } = pair();
    publish({ kind: "select", start: 2 * MS, end: 18 * MS, sides: [[1], [1]] });
    settle();
    expect(a.store.selection).toEqual({ events: [1] });
    expect(b.store.selection).toEqual({ events: [1] });
    expect(a.store.viewport).toEqual(b.store.viewport);
    expect(a.store.viewport.end).toBeLessThan(25 * MS);
    publish({ kind: "select", start: 2 * MS, end: 18 * MS, sides: [[], [2]] });
    expect(a.store.selection).toBeNull();
    expect(b.store.selection).toEqual({ events: [2] });
  });

  it("publish a third one that comes later", () => {
    const { a, heard, publish } = pair();
    a.store.setPanel({ panelOpen: false });
    heard.length = 0;
    publish({ kind: "ask" });
    settle();
    expect(new Set(heard.map(({ kind }) => kind))).toEqual(new Set(["view", "frame"]));
  });
});
