import { describe, expect, it } from "vitest";
import { Dataflow, type EdgeKind } from "../wire/dataflow";
import { randomNumbers } from "../wire/testing/synthetic";
import { type GraphEdge, MOST_NODES, MOST_PER_HOP, neighbourhood } from "./neighbourhood";

const KINDS: EdgeKind[] = ["data", "control", "transfer", "launch", "flow"];

/** The edges in a trace's order: by their target. */
function flow(count: number, edges: readonly GraphEdge[]): Dataflow {
  const byEnd = Array.from({ length: count }, (_, event) => edges.filter((edge) => edge.target === event));
  const offsets = [0];
  for (const ending of byEnd) offsets.push(offsets[offsets.length - 1] + ending.length);
  const flat = byEnd.flat();
  return new Dataflow(
    Uint32Array.from(offsets),
    Uint32Array.from(flat, ({ source }) => source),
    Uint8Array.from(flat, ({ kind }) => KINDS.indexOf(kind)),
  );
}

const data = (source: number, target: number): GraphEdge => ({ source, target, kind: "data" });
const alike = () => 1;
const pairs = (edges: readonly GraphEdge[]) =>
  edges.map(({ source, target }) => `${source} ${target}`).sort();

/** Events from which, along `edges`, `middle` is reached in at most `hops`. */
function reaching(edges: readonly GraphEdge[], middle: number, hops: number): Set<number> {
  let reached = new Set([middle]);
  for (let hop = 0; hop < hops; hop++)
    reached = new Set([...reached, ...edges.filter((e) => reached.has(e.target)).map((e) => e.source)]);
  return reached;
}

const backwards = ({ source, target, kind }: GraphEdge) => ({ source: target, target: source, kind });

describe("the neighbourhood of an event", () => {
  it("has its producers and consumers, with all edges between them", () => {
    const random = randomNumbers(7);
    for (let round = 0; round < 40; round++) {
      const edges = Array.from({ length: 30 }, () => {
        const [one, other] = [Math.floor(random() * 24), Math.floor(random() * 24)];
        return data(Math.min(one, other), Math.max(one, other) + 1);
      }).filter((edge, at, all) => all.findIndex((e) => pairs([e])[0] === pairs([edge])[0]) === at);
      const hops = 1 + Math.floor(random() * 3);
      const { nodes, edges: shown, leftOut } = neighbourhood(flow(25, edges), 12, hops, alike);
      const expected = new Set([...reaching(edges, 12, hops), ...reaching(edges.map(backwards), 12, hops)]);
      expect(new Set(nodes.map(({ event }) => event))).toEqual(expected);
      expect(pairs(shown)).toEqual(
        pairs(edges.filter(({ source, target }) => expected.has(source) && expected.has(target))),
      );
      expect(leftOut).toBe(0);
    }
  });

  it("counts hops to the left and right, and the events beyond them", () => {
    const chain = flow(
      7,
      [0, 1, 2, 3, 4, 5].map((event) => data(event, event + 1)),
    );
    const { nodes } = neighbourhood(chain, 3, 2, alike);
    expect(
      nodes.map(({ event, hop, hiddenInputs, hiddenConsumers }) => [
        event,
        hop,
        hiddenInputs,
        hiddenConsumers,
      ]),
    ).toEqual(
      expect.arrayContaining([
        [3, 0, 0, 0],
        [2, -1, 0, 0],
        [1, -2, 1, 0],
        [4, 1, 0, 0],
        [5, 2, 0, 1],
      ]),
    );
    expect(nodes[0].event).toBe(3);
  });

  it("takes the longest of too many, after those linked more strongly, and counts the rest", () => {
    const many = Array.from(
      { length: 40 },
      (_, at): GraphEdge => ({ source: 0, target: at + 1, kind: at === 3 ? "transfer" : "data" }),
    );
    const { nodes, leftOut } = neighbourhood(flow(41, many), 0, 1, (event) => event);
    expect(nodes.map(({ event }) => event)).toEqual([
      0,
      4,
      ...Array.from({ length: MOST_PER_HOP - 1 }, (_, at) => 40 - at),
    ]);
    expect(nodes[0].hiddenConsumers).toBe(40 - MOST_PER_HOP);
    expect(leftOut).toBe(40 - MOST_PER_HOP);
  });

  it("stops at the maximum number of nodes", () => {
    const tree = flow(
      600,
      Array.from({ length: 599 }, (_, at) => data(Math.floor(at / 9), at + 1)),
    );
    expect(neighbourhood(tree, 0, 5, alike).nodes.length).toBeLessThanOrEqual(MOST_NODES);
    const both = Array.from({ length: 200 }, (_, at) => [data(at, 200), data(200, 201 + at)]).flat();
    expect(neighbourhood(flow(401, both), 200, 1, alike).nodes).toHaveLength(1 + 2 * MOST_PER_HOP);
  });

  it("has one edge between two events, the strongest, and survives a cycle", () => {
    const twice: GraphEdge[] = [
      { source: 0, target: 1, kind: "control" },
      { source: 0, target: 1, kind: "transfer" },
      { source: 1, target: 0, kind: "data" },
    ];
    const { nodes, edges } = neighbourhood(flow(2, twice), 0, 3, alike);
    expect(nodes).toHaveLength(2);
    expect(edges).toHaveLength(2);
    expect(edges).toContainEqual({ source: 0, target: 1, kind: "transfer" });
    expect(nodes.every(({ hiddenInputs, hiddenConsumers }) => hiddenInputs + hiddenConsumers === 0)).toBe(
      true,
    );
  });

  it("counts edges to events that are not loaded", () => {
    const part = flow(3, [data(0, 1), data(1, 2)]);
    const links = {
      inputs: (event: number) => part.inputs(event),
      consumers: (event: number) => part.consumers(event),
      degree: (event: number) => (event === 1 ? { inputs: 1, consumers: 500 } : null),
    };
    expect(neighbourhood(links, 1, 1, alike).nodes[0].hiddenConsumers).toBe(499);
  });
});
