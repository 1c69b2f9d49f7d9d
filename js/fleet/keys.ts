/** Where keys move the current cell. */

import type { Cell } from "../model/fleet/grid";
import type { Range } from "../model/fleet/pixels";

/** Page keys move by this part of the steps in view. */
const PAGE = 0.1;

/** Keys that move the current cell. */
export const KEYS: ReadonlySet<string> = new Set([
  ...["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"],
  ...["PageUp", "PageDown", "Home", "End"],
]);

/** The cell to which a key moves from another one; null if it moves nowhere. */
export function moved(key: string, from: Cell, tasks: number, range: Range, steps: number): Cell | null {
  const page = Math.max(1, Math.round((range.to - range.from) * PAGE));
  const by: Record<string, [number, number]> = {
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    PageUp: [0, -page],
    PageDown: [0, page],
    Home: [0, -steps],
    End: [0, steps],
  };
  if (!KEYS.has(key)) return null;
  const [down, right] = by[key];
  return { task: within(from.task + down, tasks), column: within(from.column + right, steps) };
}

function within(index: number, count: number): number {
  return Math.min(Math.max(index, 0), count - 1);
}
