/**
 * Vertical positions of the cells of ordered columns. Long edges are straight, and nodes are centred between their
 * neighbours: U. Brandes and B. Köpf, Fast and Simple Horizontal Coordinate Assignment, 2001.
 */

import type { Cell } from "./columns";

const BETWEEN_NODES = 9;
const BETWEEN_BENDS = 6;

/** Sets `y` of every cell; the topmost edge of all is at 0. */
export function setHeights(columns: readonly Cell[][]): void {
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
