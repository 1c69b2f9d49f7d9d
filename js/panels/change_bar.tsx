/** A change with a bar from a zero line: slower to the right, faster to the left. */

import { activityColour } from "../model/paint/palette";
import type { Cell } from "./blocks";

/** A change too small to be seen still has a bar of this share. */
const LEAST_SHARE = 0.04;

/** The largest change of a column, in ns, in either direction; 0 if there are none. */
export function largest(rows: readonly Cell[][], column: number): number {
  return rows.reduce((most, row) => {
    const cell = row[column];
    return typeof cell === "number" ? Math.max(most, Math.abs(cell)) : most;
  }, 0);
}

export function ChangeBar({ change, most, text }: { change: number; most: number; text: string }) {
  const share = change === 0 ? 0 : Math.max(Math.abs(change) / most, LEAST_SHARE);
  const name = change > 0 ? "slower" : "faster";
  const background = `light-dark(${activityColour(name, "light")}, ${activityColour(name, "dark")})`;
  return (
    <>
      <i class="change-bar" aria-hidden="true" data-change={change === 0 ? undefined : name}>
        <b style={{ width: `${50 * share}%`, [change > 0 ? "left" : "right"]: "50%", background }} />
      </i>
      {text}
    </>
  );
}
