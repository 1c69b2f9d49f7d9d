import { describe, expect, it } from "vitest";
import type { FlameGraph } from "../../model/wire/schema";
import { layOut, neighbour } from "./flame";
import {
  bottomUp,
  eventsBefore,
  eventsIn,
  type Frame,
  goneIn,
  hasEvents,
  search,
  topDown,
  within,
} from "./tree";

const GRAPH: FlameGraph = {
  by: "thread",
  side: "host",
  cannot_say: "",
  labels: ["", "train", "loss", "MatMul", "MatMul"],
  parents: [-1, 0, 1, 1, 2],
  colours: ["", "host", "host", "op", "op"],
  parts: [
    { step: 0, frames: [1, 3], self_ns: [10, 30], events: [[0], [1]], own_ns: [[10], [30]] },
    { step: 1, frames: [2, 4], self_ns: [20, 40], events: [[2], [3, 4]], own_ns: [[20], [35, 5]] },
  ],
};

const shape = (frame: Frame): unknown[] => [frame.label, frame.total, ...frame.children.map(shape)];

describe("a flame graph", () => {
  it("adds up from the root down", () => {
    expect(shape(topDown(GRAPH, null))).toEqual([
      "",
      100,
      ["train", 100, ["loss", 60, ["MatMul", 40]], ["MatMul", 30]],
    ]);
  });

  it("shows one step alone", () => {
    expect(shape(topDown(GRAPH, 0))).toEqual(["", 40, ["train", 40, ["MatMul", 30]]]);
    expect(eventsIn(topDown(GRAPH, 1))).toEqual([2, 3, 4]);
    expect(topDown(GRAPH, 7).total).toBe(0);
  });

  it("shows the events of a range alone, if it knows the time of each", () => {
    const among = new Set([1, 4, 99]);
    expect(shape(topDown(GRAPH, null, among))).toEqual([
      "",
      35,
      ["train", 35, ["MatMul", 30], ["loss", 5, ["MatMul", 5]]],
    ]);
    expect(eventsIn(topDown(GRAPH, null, among))).toEqual([1, 4]);
    expect(topDown(GRAPH, 1, among).total).toBe(5);
    expect(hasEvents(GRAPH)).toBe(true);
    const some = { ...GRAPH, parts: GRAPH.parts.map(({ own_ns, ...part }) => part) };
    expect(hasEvents(some)).toBe(false);
    expect(topDown(some, null, among).total).toBe(100);
  });

  it("has the callers of an op below it, with the same time in all", () => {
    const inverted = bottomUp(topDown(GRAPH, null));
    expect(shape(inverted)).toEqual([
      "",
      100,
      ["MatMul", 70, ["loss", 40, ["train", 40]], ["train", 30]],
      ["loss", 20, ["train", 20]],
      ["train", 10],
    ]);
    expect(eventsIn(inverted.children[0]).sort()).toEqual([1, 3, 4]);
  });

  const DIFFERENCE = {
    ...GRAPH,
    labels: [...GRAPH.labels, "old", "Add"],
    parents: [...GRAPH.parents, 1, 5],
    colours: [...GRAPH.colours, "", ""],
    base: { step: null, frames: [2, 3, 6], self_ns: [10, 60, 5], events: [[7], [8, 9], [5]] },
  };
  const both = ({ label, total, before }: Frame) => [label, before.total, total];

  it("has the times and events of both sides of a difference", () => {
    const root = topDown(DIFFERENCE, null);
    expect(shape(root)).toEqual(shape(topDown(GRAPH, null)));
    expect(within(root).slice(0, 2).map(both)).toEqual([
      ["", 75, 100],
      ["train", 75, 100],
    ]);
    expect(goneIn(root).map(both)).toEqual([["old", 5, 0]]);
    expect(eventsBefore(root).sort()).toEqual([5, 7, 8, 9]);
    const inverted = bottomUp(root);
    expect(inverted.children.map(both)).toContainEqual(["MatMul", 60, 70]);
    expect(goneIn(inverted).map(both)).toContainEqual(["Add", 5, 0]);
    expect(inverted.before.total).toBe(75);
  });

  it("counts a match in another one once", () => {
    const { found, total } = search(topDown(GRAPH, null), "LO");
    expect([found.size, total]).toEqual([1, 60]);
    expect(search(topDown(GRAPH, null), "a").total).toBe(100);
    expect(search(topDown(GRAPH, null), "other").found.size).toBe(0);
  });

  it("is laid out with the enlarged frame over all the width", () => {
    const root = topDown(GRAPH, null);
    const [, train, loss] = within(root);
    const boxes = layOut(loss, 1000);
    expect(boxes.map(({ frame, row, x, width }) => [frame.label, row, x, width])).toEqual([
      ["", 0, 0, 1],
      ["train", 1, 0, 1],
      ["loss", 2, 0, 1],
      ["MatMul", 3, 0, 40 / 60],
    ]);
    expect(layOut(root, 1000).filter(({ frame }) => frame.parent === train)).toMatchObject([
      { x: 0, width: 0.6 },
      { x: 0.6, width: 0.3 },
    ]);
  });

  it("merges frames narrower than half a pixel", () => {
    const small = Array.from({ length: 5000 }, (_, at) => at + 1);
    const frames = topDown(
      {
        ...GRAPH,
        labels: ["", "large", ...small.map((at) => `${at}`)],
        parents: [-1, ...Array(5001).fill(0)],
        colours: Array(5002).fill(""),
        parts: [
          {
            step: 0,
            frames: [1, ...small.map((at) => at + 1)],
            self_ns: [1e5, ...Array(5000).fill(1)],
            events: Array(5001).fill([]),
          },
        ],
      },
      null,
    );
    const boxes = layOut(frames, 100);
    expect(boxes).toHaveLength(3);
    expect(boxes[2]).toMatchObject({ merged: 5000, row: 1 });
    expect(boxes[1].width + boxes[2].width).toBeCloseTo(1);
    expect(layOut(frames.children[4], 100)).toHaveLength(2);
  });

  it("is walked with arrow keys", () => {
    const boxes = layOut(topDown(GRAPH, null), 1000);
    const labels = boxes.map(({ frame }) => frame.label);
    const from = (label: string, key: string) => labels[neighbour(boxes, labels.indexOf(label), key)];
    expect(from("train", "ArrowDown")).toBe("loss");
    expect(from("loss", "ArrowUp")).toBe("train");
    expect(from("loss", "ArrowRight")).toBe("MatMul");
    expect(from("loss", "ArrowLeft")).toBe("loss");
    expect(from("", "ArrowUp")).toBe("");
  });
});
