/** The columns of a layered drawing, producers to the left, and in which order each has its cells: few lines cross. */

export interface Size {
  width: number;
  height: number;
}

export interface Point {
  x: number;
  y: number;
}

/** A node, or where an edge passes a column; `x` and `y` are the middle. */
export interface Cell extends Size, Point {
  isBend: boolean;
  column: number;
  /** The place in the column, from the top. */
  place: number;
  before: Cell[];
  after: Cell[];
}

/** Between numbers of nodes; `label` is the size of its label, null without one. */
export interface Link {
  source: number;
  target: number;
  label: Size | null;
}

export interface Columns {
  columns: Cell[][];
  nodes: Cell[];
  /** Of each edge the cells between its nodes, and that with its label. */
  edges: { bends: Cell[]; label: Cell | null }[];
}

/** Sweeps that improve nothing before the order is final. */
const PATIENCE = 6;

/** Nodes stand in even columns; the odd ones between them have room for labels. */
export function inColumns(sizes: readonly Size[], links: readonly Link[]): Columns {
  const columns: Cell[][] = [];
  const cell = (column: number, size: Size | null): Cell => {
    const made = { isBend: !size, width: 0, height: 0, ...size, x: 0, y: 0, column, place: 0 };
    const placed: Cell = { ...made, before: [], after: [] };
    columns[column] ??= [];
    columns[column].push(placed);
    return placed;
  };
  const ranks = rank(sizes.length, links);
  for (let column = 0; column < 2 * Math.max(...ranks); column++) columns[column] = [];
  const nodes = sizes.map((size, node) => cell(2 * ranks[node], size));
  const edges = links.map(({ source, target, label }) => {
    const ends = [nodes[source], nodes[target]];
    const [first, last] = ends.sort((one, other) => one.column - other.column);
    const bends: Cell[] = [];
    const middle = (first.column + last.column) / 2;
    let from = first;
    for (let column = first.column + 1; column <= last.column; column++) {
      const to = column === last.column ? last : cell(column, null);
      if (to !== last) bends.push(to);
      from.after.push(to);
      to.before.push(from);
      from = to;
    }
    const labelled = label ? bends[middle - first.column - 1] : null;
    return { bends, label: labelled && Object.assign(labelled, label) };
  });
  order(columns);
  return { columns, nodes, edges };
}

/** The column of each node: right of its producers, and as close as possible to its neighbours. */
function rank(count: number, links: readonly Link[]): number[] {
  const outputs = Array.from({ length: count }, (): number[] => []);
  for (const { source, target } of links) outputs[source].push(target);
  const inputs = Array.from({ length: count }, (): number[] => []);
  const sorted: number[] = [];
  const seen = new Map<number, "open" | "done">();
  const visit = (node: number) => {
    seen.set(node, "open");
    for (const next of [...outputs[node]]) {
      if (!seen.has(next)) visit(next);
      // It closes a cycle.
      if (seen.get(next) === "open") {
        outputs[node].splice(outputs[node].indexOf(next), 1);
        if (next === node) continue;
        outputs[next].push(node);
        inputs[node].push(next);
      } else inputs[next].push(node);
    }
    seen.set(node, "done");
    sorted.unshift(node);
  };
  for (let node = 0; node < count; node++) if (!seen.has(node)) visit(node);
  const ranks = new Array<number>(count).fill(0);
  for (const node of sorted) ranks[node] = Math.max(-1, ...inputs[node].map((other) => ranks[other])) + 1;
  for (const node of sorted.reverse())
    if (outputs[node].length && outputs[node].length >= inputs[node].length)
      ranks[node] = Math.min(...outputs[node].map((other) => ranks[other])) - 1;
  return ranks;
}

/** Sorts the cells of each column by the median of their neighbours, from left to right and back. */
function order(columns: Cell[][]): void {
  begin(columns);
  let best = columns.map((column) => [...column]);
  let fewest = crossings(columns);
  for (let sweep = 0, vain = 0; fewest && vain < PATIENCE; sweep++, vain++) {
    const [side, sorted] =
      sweep % 2 ? (["after", [...columns].reverse()] as const) : (["before", columns] as const);
    // Every other pair of sweeps exchanges cells that might stand either way.
    const bias = sweep % 4 < 2 ? 1 : -1;
    for (const column of sorted) {
      const middle = new Map(
        column.map((cell) => [cell, mean(cell[side].map(({ place }) => place)) ?? cell.place]),
      );
      column.sort((one, other) => middle.get(one)! - middle.get(other)! || bias * (one.place - other.place));
      number(column);
    }
    const crossed = crossings(columns);
    if (crossed >= fewest) continue;
    fewest = crossed;
    best = columns.map((column) => [...column]);
    vain = -1;
  }
  for (const [index, column] of best.entries()) {
    columns[index] = column;
    number(column);
  }
}

/** Cells that are linked begin next to each other. */
function begin(columns: Cell[][]): void {
  const seen = new Set<Cell>();
  const visit = (cell: Cell) => {
    if (seen.has(cell)) return;
    seen.add(cell);
    for (const next of cell.after) visit(next);
  };
  for (const cell of columns.flat()) visit(cell);
  const rankOf = new Map([...seen].map((cell, index) => [cell, index]));
  for (const column of columns) {
    column.sort((one, other) => rankOf.get(one)! - rankOf.get(other)!);
    number(column);
  }
}

function number(column: Cell[]): void {
  for (const [place, cell] of column.entries()) cell.place = place;
}

function mean(places: number[]): number | null {
  return places.length ? places.reduce((sum, place) => sum + place) / places.length : null;
}

function crossings(columns: readonly Cell[][]): number {
  let count = 0;
  for (const column of columns) {
    const ends = column.flatMap((cell) =>
      cell.after.map(({ place }) => place).sort((one, other) => one - other),
    );
    for (const [index, end] of ends.entries())
      for (let before = 0; before < index; before++) if (ends[before] > end) count++;
  }
  return count;
}
