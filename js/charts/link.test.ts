import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { joinLink, type LinkMessage } from "../host/channel";
import type { BokehModel } from "./bokeh";
import { ChartLink } from "./link";

const MS = 1e6;
let count = 0;

/** As much of a model of BokehJS as a link needs: values that publish when they are set. */
class Model {
  readonly properties = {};
  readonly #slots = new Set<() => void>();
  readonly change = {
    connect: (slot: () => void) => Boolean(this.#slots.add(slot)),
    disconnect: (slot: () => void) => this.#slots.delete(slot),
  };

  constructor(
    readonly type: string,
    readonly name: string | null,
    values: object,
  ) {
    Object.assign(this, values);
  }

  setv(values: object): void {
    Object.assign(this, values);
    for (const slot of this.#slots) slot();
  }
}

function linked(unit = MS, columns = {}) {
  const range = Object.assign(new Model("Range1d", null, {}), { start: 0, end: 100 });
  const figure = new Model("Figure", "tfvis-time", { x_range: range, tags: [unit] });
  const selected = Object.assign(new Model("Selection", null, {}), { indices: [] as number[] });
  const inspected = Object.assign(new Model("Selection", null, {}), { indices: [] as number[] });
  const data = {
    name: ["net/a", "net/b", "MatMul"],
    start_ms: Float64Array.of(1, 5, 20),
    end_ms: Float64Array.of(2, 9, 30),
    ...columns,
  };
  const rows = new Model("ColumnDataSource", "tfvis-rows", { data, selected, inspected });
  Object.assign(figure, { references: () => [figure, range, rows] });
  const { signal } = new AbortController();
  const id = `chart ${count++}`;
  const heard: LinkMessage[] = [];
  const publish = joinLink(id, (message) => heard.push(message), signal);
  const shown = vi.fn();
  const link = new ChartLink(figure as unknown as BokehModel, id, shown, signal);
  return { link, range, selected, inspected, heard, publish, shown };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("a chart along the run's time", () => {
  it("asks for the view and sends nothing while it lays itself out", () => {
    const { range, heard } = linked();
    range.setv({ start: -5, end: 105 });
    expect(heard).toMatchObject([{ kind: "ask" }]);
  });

  it("follows the timeline and calls back", () => {
    const { range, publish, heard, shown } = linked();
    publish({ kind: "view", start: 10 * MS, end: 20 * MS });
    expect([range.start, range.end]).toEqual([10, 20]);
    expect(shown).toHaveBeenLastCalledWith(10 * MS, 20 * MS);
    expect(heard.filter(({ kind }) => kind === "view")).toEqual([]);
  });

  it("has a unit of its own", () => {
    const { range, publish, heard, shown } = linked(1000);
    publish({ kind: "view", start: 2000, end: 5000 });
    expect([range.start, range.end]).toEqual([2, 5]);
    expect(shown).toHaveBeenLastCalledWith(2000, 5000);
    heard.length = 0;
    range.setv({ start: 3, end: 4 });
    expect(heard).toMatchObject([{ kind: "view", start: 3000, end: 4000 }]);
  });

  it("follows a gesture some times a second, and its end", () => {
    const { range, publish, shown } = linked();
    for (let ms = 0; ms < 10; ms++) publish({ kind: "view", start: ms * MS, end: 50 * MS });
    expect(range.start).toBe(0);
    vi.advanceTimersByTime(100);
    expect(range.start).toBe(9);
    expect(shown).toHaveBeenCalledTimes(2);
  });

  it("waits while hidden", () => {
    const { link, range, publish } = linked();
    link.setShown(false);
    publish({ kind: "view", start: 10 * MS, end: 20 * MS });
    vi.advanceTimersByTime(100);
    expect(range.start).toBe(0);
    link.setShown(true);
    expect(range.start).toBe(10);
  });

  it("moves the timeline", () => {
    const { range, publish, heard } = linked();
    publish({ kind: "view", start: 0, end: 100 * MS });
    heard.length = 0;
    range.setv({ start: 30, end: 40 });
    range.setv({ start: 30, end: 40 });
    expect(heard).toMatchObject([{ kind: "view", start: 30 * MS, end: 40 * MS }]);
  });
});

describe("a chart of rows", () => {
  it("shows the tapped rows in the timeline", () => {
    const { selected, heard } = linked();
    heard.length = 0;
    selected.setv({ indices: [0, 1] });
    expect(heard).toMatchObject([{ kind: "select", start: 1 * MS, end: 9 * MS }]);
    selected.setv({ indices: [] });
    expect(heard.length).toBe(1);
  });

  it("selects the events of the tapped rows, if known", () => {
    const { selected, heard } = linked(MS, { start_ms: undefined, events: [[4, 9], [7], [1]] });
    selected.setv({ indices: [0, 1] });
    expect(heard.at(-1)).toMatchObject({ kind: "select", events: [4, 9, 7] });
  });

  it("sends the row under the pointer", () => {
    const { inspected, heard } = linked();
    heard.length = 0;
    inspected.setv({ indices: [1] });
    inspected.setv({ indices: [] });
    expect(heard).toMatchObject([
      { kind: "hover", name: "net/b" },
      { kind: "hover", name: null },
    ]);
  });

  it("highlights rows of a node or of its op type, then the earlier selection again", () => {
    const { selected, publish, heard } = linked();
    selected.setv({ indices: [0] });
    heard.length = 0;
    publish({ kind: "hover", name: "net/c", op: "MatMul" });
    expect(selected.indices).toEqual([2]);
    publish({ kind: "hover", name: null });
    expect(selected.indices).toEqual([0]);
    publish({ kind: "select", events: [7], name: "net/b", op: "Add" });
    expect(selected.indices).toEqual([1]);
    expect(heard).toEqual([]);
  });
});
