/** Where the nodes of a neighbourhood stand, producers to the left, and the lines between them. Lengths in CSS px. */

import { Graph, layout } from "@dagrejs/dagre";
import type { GraphEdge, GraphNode, Neighbourhood } from "./neighbourhood";

export interface Size {
  width: number;
  height: number;
}

interface Point {
  x: number;
  y: number;
}

/** `x` and `y` are the middle. */
export type PlacedNode = GraphNode & Size & Point;

/** `line` is an SVG path, `label` the middle of its label, null without one. */
export type PlacedEdge = GraphEdge & { line: string; tip: string; label: Point | null };

export interface GraphLayout extends Size {
  nodes: PlacedNode[];
  edges: PlacedEdge[];
}

const TIP = 7;

/** `sizeOf` gives the size of a node, `labelOf` the size of an edge's label, null without a label. */
export function layoutGraph(
  { nodes, edges }: Neighbourhood,
  sizeOf: (node: GraphNode) => Size,
  labelOf: (edge: GraphEdge) => Size | null,
): GraphLayout {
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 9, edgesep: 6, ranksep: 38, marginx: 24, marginy: 12 });
  for (const node of nodes) graph.setNode(String(node.event), { ...sizeOf(node) });
  for (const edge of edges)
    graph.setEdge(String(edge.source), String(edge.target), { ...labelOf(edge), labelpos: "c" });
  layout(graph);
  const { width, height } = graph.graph() as Size;
  const placed = new Map(
    nodes.map((node) => [node.event, { ...node, ...(graph.node(String(node.event)) as Size & Point) }]),
  );
  return {
    width,
    height,
    nodes: [...placed.values()],
    edges: edges.map((edge) => {
      const ends = [placed.get(edge.source)!, placed.get(edge.target)!] as const;
      const { points, x, y } = graph.edge(String(edge.source), String(edge.target)) as Point & {
        points: Point[];
      };
      const size = labelOf(edge);
      const label = size && { ...size, x, y };
      return { ...edge, ...drawLine(...ends, points, label), label };
    }),
  };
}

/** A line from side to side that bends between the columns only, and the arrow at its end. */
function drawLine(
  source: PlacedNode,
  target: PlacedNode,
  points: readonly Point[],
  label: (Point & Size) | null,
): { line: string; tip: string } {
  // A cycle has an edge that leads back.
  const ahead = target.x < source.x ? -1 : 1;
  // dagre has a point at the node on either end, and between them one in each gap and each column by turns.
  const columns = points.slice(1, -1).filter((_, index) => index % 2 === 1);
  const level: (Point & { width: number })[] = columns
    .filter(({ x }) => x !== label?.x)
    .map((point) => ({ ...point, width: source.width }));
  if (label) level.push(label);
  level.sort((one, other) => ahead * (one.x - other.x));
  const end = { x: target.x - (ahead * target.width) / 2, y: target.y };
  const back = end.x - ahead * TIP;
  let from: Point = { x: source.x + (ahead * source.width) / 2, y: source.y };
  let line = `M${at(from)}`;
  for (const { x, y, width } of [...level, { x: back, y: end.y, width: 0 }]) {
    const to = { x: x - (ahead * width) / 2, y };
    const middle = (from.x + to.x) / 2;
    line += `C${at({ x: middle, y: from.y })} ${at({ x: middle, y })} ${at(to)}`;
    from = { x: x + (ahead * width) / 2, y };
    if (width) line += `L${at(from)}`;
  }
  const tip = `M${at({ x: back, y: end.y - TIP / 2 })}L${at(end)}L${at({ x: back, y: end.y + TIP / 2 })}Z`;
  return { line, tip };
}

function at({ x, y }: Point): string {
  return `${x.toFixed(1)},${y.toFixed(1)}`;
}
