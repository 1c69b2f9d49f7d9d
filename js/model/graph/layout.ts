/** Where the nodes of a neighbourhood stand, producers to the left, and the lines between them. Lengths in CSS px. */

import { type Cell, inColumns, type Point, type Size } from "./columns";
import { setHeights } from "./heights";
import type { GraphEdge, GraphNode, Neighbourhood } from "./neighbourhood";

export type { Size };

/** `x` and `y` are the middle. */
export type PlacedNode = GraphNode & Size & Point;

/** `line` is an SVG path, `label` the middle of its label, null without one. */
export type PlacedEdge = GraphEdge & { line: string; tip: string; label: Point | null };

export interface GraphLayout extends Size {
  nodes: PlacedNode[];
  edges: PlacedEdge[];
}

const TIP = 7;
/** Between a column and the next, which of two has room for labels only. */
const BETWEEN_COLUMNS = 19;
/** The most that many lines after a column add to that, which would run on top of each other in a fan. */
const MOST_FOR_LINES = 32;
const BESIDE = 24;
const ABOVE = 12;

/** `sizeOf` gives the size of a node, `labelOf` the size of an edge's label, null without a label. */
export function layoutGraph(
  { nodes, edges }: Neighbourhood,
  sizeOf: (node: GraphNode) => Size,
  labelOf: (edge: GraphEdge) => Size | null,
): GraphLayout {
  const numbers = new Map(nodes.map(({ event }, index) => [event, index]));
  const number = (event: number) => numbers.get(event)!;
  const made = inColumns(
    nodes.map(sizeOf),
    edges.map((edge) => ({ source: number(edge.source), target: number(edge.target), label: labelOf(edge) })),
  );
  setHeights(made.columns);
  let right = BESIDE;
  for (const column of made.columns) {
    const width = Math.max(0, ...column.map((cell) => cell.width));
    for (const cell of column) {
      cell.x = right + width / 2;
      cell.y += ABOVE;
    }
    const lines = column.reduce((sum, { after }) => sum + after.length, 0);
    right += width + BETWEEN_COLUMNS + Math.min(lines, MOST_FOR_LINES);
  }
  const cells = made.columns.flat();
  const placed = nodes.map((node, index): PlacedNode => {
    const { x, y, width, height } = made.nodes[index];
    return { ...node, x, y, width, height };
  });
  return {
    // The last column has no lines to the right.
    width: right - BETWEEN_COLUMNS + BESIDE,
    height: Math.max(...cells.map(({ y, height }) => y + height / 2)) + ABOVE,
    nodes: placed,
    edges: edges.map((edge, index) => {
      const { bends, label } = made.edges[index];
      const ends = [placed[number(edge.source)], placed[number(edge.target)]] as const;
      return { ...edge, ...drawLine(...ends, bends, label), label };
    }),
  };
}

/** A line from side to side that bends between the columns only, and the arrow at its end. */
function drawLine(
  source: PlacedNode,
  target: PlacedNode,
  bends: readonly Cell[],
  label: Cell | null,
): { line: string; tip: string } {
  // A cycle has an edge that leads back.
  const ahead = target.x < source.x ? -1 : 1;
  const level = bends
    .filter((bend) => bend === label || bend.column % 2 === 0)
    .map((bend) => ({ ...bend, width: bend.width || source.width }))
    .sort((one, other) => ahead * (one.x - other.x));
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
