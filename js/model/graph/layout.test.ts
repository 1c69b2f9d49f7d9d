import { describe, expect, it } from "vitest";
import { layoutGraph, type PlacedNode } from "./layout";
import type { GraphEdge, GraphNode } from "./neighbourhood";
import { walk } from "./walk";

const node = (event: number, hop = 0): GraphNode => ({ event, hop, hiddenInputs: 0, hiddenConsumers: 0 });
const edge = (source: number, target: number, kind: GraphEdge["kind"] = "data"): GraphEdge => ({
  source,
  target,
  kind,
});
const SIZE = { width: 100, height: 40 };

/** Two producers, one of which the other one feeds, and three consumers. */
const nodes = [node(9), node(1), node(2), node(11), node(12), node(13)];
const edges = [
  edge(1, 2),
  edge(1, 9),
  edge(2, 9),
  edge(9, 11),
  edge(9, 12, "transfer"),
  edge(9, 13, "control"),
];
const placed = layoutGraph(
  { nodes, edges, leftOut: 0 },
  () => SIZE,
  () => null,
);
const at = (event: number) => placed.nodes.find((each) => each.event === event)!;

function overlap(one: PlacedNode, other: PlacedNode): boolean {
  const isNear = (axis: "x" | "y", side: "width" | "height") =>
    Math.abs(one[axis] - other[axis]) < (one[side] + other[side]) / 2;
  return isNear("x", "width") && isNear("y", "height");
}

describe("the layout of a graph", () => {
  it("has every producer left of its consumers, inside of its extent, and none over another", () => {
    for (const { source, target } of edges) expect(at(source).x).toBeLessThan(at(target).x);
    for (const one of placed.nodes) {
      expect(one.x - SIZE.width / 2).toBeGreaterThanOrEqual(0);
      expect(one.x + SIZE.width / 2).toBeLessThanOrEqual(placed.width);
      expect(one.y + SIZE.height / 2).toBeLessThanOrEqual(placed.height);
      expect(placed.nodes.filter((other) => overlap(one, other))).toEqual([one]);
    }
  });

  it("draws each edge from side to side", () => {
    for (const { source, target, line, tip } of placed.edges) {
      const numbers = (text: string) => text.match(/-?[\d.]+/g)!.map(Number);
      expect(numbers(line).slice(0, 2)).toEqual(
        [at(source).x + SIZE.width / 2, at(source).y].map((n) => Number(n.toFixed(1))),
      );
      expect(numbers(tip).slice(2, 4)).toEqual(
        [at(target).x - SIZE.width / 2, at(target).y].map((n) => Number(n.toFixed(1))),
      );
    }
  });

  it("leaves room for labels between the nodes", () => {
    const label = { width: 80, height: 14 };
    const [line] = layoutGraph(
      { nodes: [node(1), node(2)], edges: [edge(1, 2)], leftOut: 0 },
      () => SIZE,
      () => label,
    ).edges;
    const wide = layoutGraph(
      { nodes: [node(1), node(2)], edges: [edge(1, 2)], leftOut: 0 },
      () => SIZE,
      () => label,
    ).nodes;
    expect(line.label!.x - 40).toBeGreaterThanOrEqual(wide[0].x + 50);
    expect(line.label!.x + 40).toBeLessThanOrEqual(wide[1].x - 50);
  });

  it("has long edges straight, sources next to what they feed, and no lines that need not cross", () => {
    // 1 feeds 2, 3 and, past their column, 6; 7 feeds 6 alone. 2 and 3 are named the other way round by their consumers.
    const { nodes, edges } = layoutGraph(
      {
        nodes: [1, 2, 3, 4, 5, 6, 7].map((event) => node(event)),
        edges: [edge(1, 2), edge(1, 3), edge(3, 4), edge(2, 5), edge(4, 6), edge(1, 6), edge(7, 6)],
        leftOut: 0,
      },
      () => SIZE,
      () => null,
    );
    const [first, second, third, fourth, fifth, , seventh] = nodes;
    expect((second.y - third.y) * (fifth.y - fourth.y)).toBeGreaterThan(0);
    expect(seventh.x).toBe(fourth.x);
    const flat = edges[5].line.match(/L[-\d.]+,[-\d.]+/g)!;
    expect(new Set(flat.map((text) => text.split(",")[1])).size).toBe(1);
    expect(first.x).toBeLessThan(second.x);
  });

  it("places a lone node and a cycle", () => {
    expect(
      layoutGraph(
        { nodes: [node(5)], edges: [], leftOut: 0 },
        () => SIZE,
        () => null,
      ).nodes,
    ).toHaveLength(1);
    const cycle = { nodes: [node(1), node(2)], edges: [edge(1, 2), edge(2, 1)], leftOut: 0 };
    expect(
      layoutGraph(
        cycle,
        () => SIZE,
        () => null,
      ).edges.map(({ line }) => line.includes("NaN")),
    ).toEqual([false, false]);
  });
});

describe("walking through a graph", () => {
  it("follows the strongest edge to either side", () => {
    expect(walk(placed, 9, "right")).toBe(12);
    expect(walk(placed, 12, "left")).toBe(9);
    expect(walk(placed, 1, "left")).toBeNull();
    expect(walk(placed, 77, "left")).toBeNull();
  });

  it("goes up and down in a column, and comes past all of it", () => {
    const column = [11, 12, 13].sort((one, other) => at(one).y - at(other).y);
    expect(walk(placed, column[0], "down")).toBe(column[1]);
    expect(walk(placed, column[1], "down")).toBe(column[2]);
    expect(walk(placed, column[2], "down")).toBeNull();
    expect(walk(placed, column[2], "up")).toBe(column[1]);
  });
});
