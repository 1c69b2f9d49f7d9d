/** Where the nodes of a neighbourhood stand, producers to the left, and the lines between them. Lengths in CSS px. */

import { type Cell, inColumns, type Point, type Size } from "./columns";
import type { GraphEdge, GraphNode, Neighbourhood } from "./neighbourhood";

export type { Size };

/** `x` and `y` are the middle. */
export type PlacedNode = GraphNode & Size & Point;

/** `line` is an SVG path, `label` the middle of its label, null without one. */
type PlacedEdge = GraphEdge & { line: string; tip: string; label: Point | null };

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

const BETWEEN_NODES = 9;
const BETWEEN_BENDS = 6;

/**
 * Sets `y` of every cell; the topmost edge of all is at 0. Long edges are straight, and nodes are centred between
 * their neighbours: U. Brandes and B. Köpf, Fast and Simple Horizontal Coordinate Assignment, 2001.
 */
function setHeights(columns: readonly Cell[][]): void {
  const crossed = crossedLinks(columns);
  // Align each with its left or right neighbour, from the top or from the bottom.
  const drawings = (["before", "after"] as const).flatMap((side) =>
    [1, -1].map((down) => {
      const heights = drawing(columns, crossed, side, down);
      const tops = [...heights].map(([cell, y]) => y - cell.height / 2);
      const bottoms = [...heights].map(([cell, y]) => y + cell.height / 2);
      return { heights, down, top: Math.min(...tops), bottom: Math.max(...bottoms) };
    }),
  );
  const smallest = drawings.reduce((one, other) =>
    other.bottom - other.top < one.bottom - one.top ? other : one,
  );
  for (const cell of columns.flat()) {
    const heights = drawings.map(
      ({ heights, down, top, bottom }) =>
        heights.get(cell)! + (down > 0 ? smallest.top - top : smallest.bottom - bottom),
    );
    const [, second, third] = heights.sort((one, other) => one - other);
    cell.y = (second + third) / 2;
  }
  const top = Math.min(...columns.flat().map(({ y, height }) => y - height / 2));
  for (const cell of columns.flat()) cell.y -= top;
}

/** One drawing, in which cells that are aligned have the same height. */
function drawing(
  columns: readonly Cell[][],
  crossed: ReadonlySet<string>,
  side: "before" | "after",
  down: number,
): Map<Cell, number> {
  const ordered = columns.map((column) => (down > 0 ? column : [...column].reverse()));
  const rootOf = align(side === "before" ? ordered : [...ordered].reverse(), crossed, side, down);
  const blocks = new Map<Cell, Cell[]>();
  for (const [cell, root] of rootOf) blocks.set(root, [...(blocks.get(root) ?? []), cell]);
  const next = (cell: Cell, by: number): Cell | undefined => columns[cell.column][cell.place + down * by];
  // As close as possible to the cell above or below.
  const against = (by: 1 | -1, alone: (root: Cell) => number) => {
    const known = new Map<Cell, number>();
    const height = (root: Cell): number => {
      if (!known.has(root)) {
        const limits = blocks.get(root)!.flatMap((cell) => {
          const other = next(cell, by);
          return other ? [height(rootOf.get(other)!) - by * apart(cell, other)] : [];
        });
        const nearest = by > 0 ? Math.min : Math.max;
        known.set(root, limits.length ? nearest(...limits) : alone(root));
      }
      return known.get(root)!;
    };
    return height;
  };
  // Move cells with free room as close as possible to the cell below.
  const close = against(
    1,
    against(-1, () => 0),
  );
  return new Map([...rootOf].map(([cell, root]) => [cell, down * close(root)]));
}

function apart(one: Cell, other: Cell): number {
  const room = (cell: Cell) => cell.height + (cell.isBend ? BETWEEN_BENDS : BETWEEN_NODES);
  return (room(one) + room(other)) / 2;
}

/** Of each cell the first of those with which it is aligned: each with a middle one of its links on a side. */
function align(
  columns: readonly Cell[][],
  crossed: ReadonlySet<string>,
  side: "before" | "after",
  down: number,
): Map<Cell, Cell> {
  const rootOf = new Map(columns.flat().map((cell) => [cell, cell]));
  const taken = new Set<Cell>();
  for (const column of columns) {
    let last = -Infinity;
    for (const cell of column) {
      const links = [...cell[side]].sort((one, other) => down * (one.place - other.place));
      const middle = (links.length - 1) / 2;
      for (const other of links.slice(Math.max(Math.floor(middle), 0), Math.ceil(middle) + 1)) {
        const place = down * other.place;
        if (rootOf.get(cell) !== cell || taken.has(other) || place <= last) continue;
        if (crossed.has(key(cell, other))) continue;
        taken.add(other);
        rootOf.set(cell, rootOf.get(other)!);
        last = place;
      }
    }
  }
  return rootOf;
}

/** Links that cross the inner part of a long edge, which stays straight. */
function crossedLinks(columns: readonly Cell[][]): Set<string> {
  const crossed = new Set<string>();
  for (const column of columns) {
    const links = column.flatMap((from) =>
      from.after.map((to) => ({ from, to, isInner: from.isBend && to.isBend })),
    );
    for (const inner of links.filter(({ isInner }) => isInner))
      for (const { from, to, isInner } of links)
        if (!isInner && (from.place - inner.from.place) * (to.place - inner.to.place) < 0)
          crossed.add(key(from, to));
  }
  return crossed;
}

function key(one: Cell, other: Cell): string {
  const [left, right] = one.column < other.column ? [one, other] : [other, one];
  return `${left.column} ${left.place} ${right.place}`;
}
