/** The interface between a fleet's heat map and whoever holds its data: a kernel, or an exported page. */

import type { Cell, Grid, Values } from "../model/fleet/grid";

export interface Opened {
  /** What to say of it. */
  text: string;
  /** Whether the timeline is shown. */
  isShown: boolean;
  /** The Python call that shows it elsewhere, if it is not. */
  call?: string;
}

export interface FleetHost {
  /** Aborts, with the reason, when nobody answers any more; missing in a page. */
  readonly end?: AbortSignal;
  /** The link with the tables: rows name cells by their numbers. */
  readonly link: string;
  grid(): Promise<Grid>;
  /** The values of a figure; rejects with a readable message. */
  values(grid: Grid, metric: string): Promise<Values>;
  /** Show the timeline of a cell; rejects with a readable message. */
  open(cell: Cell): Promise<Opened>;
  /** Whether `open` shows a timeline; missing if it always does. */
  hasTimeline?(grid: Grid, cell: Cell): boolean;
  /** Remove the timeline. */
  close(): void;
  /** The column since which ops are compared. */
  readonly since: number;
  /** Compare ops since a column; missing where nobody can compute it. */
  compareSince?(column: number): void;
  /** Call `changed` when `since` may have changed. */
  watch(changed: () => void, signal: AbortSignal): void;
}
