/** The steps in view: what keys and dragging do to them. */

import type { Range } from "../model/fleet/pixels";

/** Fewer steps than this are not zoomed to. */
const LEAST = 4;

export function whole(steps: number): Range {
  return { from: 0, to: steps };
}

/** The steps between two places, in either order; at least a few. */
export function between(one: number, other: number, steps: number): Range {
  const from = Math.floor(Math.min(one, other));
  const to = Math.ceil(Math.max(one, other));
  const more = Math.max(Math.min(LEAST, steps) - (to - from), 0);
  return inside(from - Math.floor(more / 2), to + Math.ceil(more / 2), steps);
}

/** A range `factor` times as long around a column. */
export function zoomed({ from, to }: Range, column: number, factor: number, steps: number): Range {
  const length = Math.min(Math.max(Math.round((to - from) * factor), Math.min(LEAST, steps)), steps);
  const start = Math.round(column + 0.5 - length / 2);
  return inside(start, start + length, steps);
}

/** The range, moved as little as it takes to show a column. */
export function showing(range: Range, column: number, steps: number): Range {
  const by = Math.min(column - range.from, 0) + Math.max(column + 1 - range.to, 0);
  return by === 0 ? range : inside(range.from + by, range.to + by, steps);
}

function inside(from: number, to: number, steps: number): Range {
  const by = from < 0 ? -from : Math.min(steps - to, 0);
  return { from: Math.max(from + by, 0), to: Math.min(to + by, steps) };
}
