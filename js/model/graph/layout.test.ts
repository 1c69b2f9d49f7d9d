import { describe, expect, it } from "vitest";
import { randomNumbers } from "../wire/testing/synthetic";
import type { Point, Size } from "./columns";
import { layoutGraph } from "./layout";
import type { GraphEdge, GraphNode } from "./neighbourhood";
import { walk } from "./walk";

const node = (event: number, hop = 0): GraphNode => ({ event, hop, hiddenInputs: 0, hiddenConsumers: 0 });
const edge = (source: number, target: number, kind: GraphEdge["kind"] = "data"): GraphEdge => ({
  source,
  target,
  kind,
});
const wholeNumbers = (seed: number) => {
  const random = randomNumbers(seed);
  return (below: number) => Math.floor(random() * below);
};
const SIZE = { width: 100, height: 40 };

/** Two producers, the first feeding the second, and three consumers. */
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

function overlap(one: Point & Size, other: Point & Size): boolean {
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

  it("has more room after a column that many lines leave", () => {
    const between = (consumers: number) => {
      const numbers = Array.from({ length: consumers }, (_, index) => index + 1);
      const { nodes } = layoutGraph(
        {
          nodes: [node(0), ...numbers.map((event) => node(event))],
          edges: numbers.map((event) => edge(0, event)),
          leftOut: 0,
        },
        () => SIZE,
        () => null,
      );
      return nodes[1].x - nodes[0].x;
    };
    expect(between(12)).toBeGreaterThan(between(1) + 10);
    expect(between(300)).toBeLessThan(between(1) + 100);
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

  it("has straight long edges, sources next to their consumers, and no avoidable crossing", () => {
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

  /** `count` nodes of several sizes; every third edge has a label. */
  const graphOf = (count: number, edges: GraphEdge[]) =>
    layoutGraph(
      { nodes: Array.from({ length: count }, (_, event) => node(event)), edges, leftOut: 0 },
      ({ event }) => ({ width: 50 + (event % 7) * 10, height: 20 + (event % 3) * 10 }),
      ({ source, target }) => ((source + target) % 3 ? null : { width: 60, height: 14 }),
    );

  it("has random graphs inside of its extent, no node or label over another, and long edges straight", () => {
    const random = wholeNumbers(1);
    for (let graph = 0; graph < 300; graph++) {
      const count = 1 + random(24);
      // Several edges between two nodes, edges of a node with itself, cycles in every other graph.
      const ends = Array.from({ length: random(60) }, () => [random(count), random(count)]);
      const isAcyclic = graph % 2 === 0;
      const edges = ends.map((pair) => (isAcyclic ? pair.sort((one, other) => one - other) : pair));
      const {
        nodes,
        edges: lines,
        width,
        height,
      } = graphOf(
        count,
        edges.map(([a, b]) => edge(a, b)),
      );
      expect(nodes.map(({ event }) => event)).toEqual(Array.from({ length: count }, (_, event) => event));
      const labels = lines.flatMap(({ label }) => (label ? [{ ...label, width: 60, height: 14 }] : []));
      for (const one of [...nodes, ...labels]) {
        expect(one.x - one.width / 2).toBeGreaterThanOrEqual(0);
        expect(one.x + one.width / 2).toBeLessThanOrEqual(width);
        expect(one.y - one.height / 2).toBeGreaterThanOrEqual(0);
        expect(one.y + one.height / 2).toBeLessThanOrEqual(height);
        expect([...nodes, ...labels].filter((other) => overlap(one, other))).toEqual([one]);
      }
      for (const { source, target, line, tip } of lines) {
        expect(line + tip).not.toMatch(/NaN|Infinity/);
        const level = line.match(/L[-\d.]+,[-\d.]+/g) ?? [];
        expect(new Set(level.map((text) => text.split(",")[1])).size).toBeLessThan(2);
        const gap = nodes[target].x - nodes[source].x;
        if (isAcyclic && source !== target)
          expect(gap).toBeGreaterThan((nodes[source].width + nodes[target].width) / 2);
      }
    }
  });

  it("places as many nodes as no graph shows, in a chain, around one and at random", () => {
    const random = wholeNumbers(2);
    for (const producerOf of [(node: number) => node - 1, () => 0, (node: number) => random(node)]) {
      const edges = Array.from({ length: 1999 }, (_, index) => edge(producerOf(index + 1), index + 1));
      const { nodes, edges: lines } = graphOf(2000, edges);
      for (const { source, target } of lines) expect(nodes[source].x).toBeLessThan(nodes[target].x);
    }
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
