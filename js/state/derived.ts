/** Values derived from the drawn data and the step shown, each computed on first use. */

import { rowNumbers } from "../model/lanes/placement";
import { beginsFolded, busyTime, foldRows, movesIn } from "../model/lod/folded";
import { RowLevels } from "../model/lod/levels";
import { mergedRows } from "../model/lod/merged";
import { packLanes } from "../model/lod/rows";
import { NameIndex } from "../model/search/name_index";
import type { Drawn, Row } from "../model/types";

export class DerivedRows {
  readonly rows: Row[][];
  /** For each event the row of its lane. */
  readonly rowNumbers: Uint32Array;
  readonly #folded = new Map<number, Row>();
  readonly #beginsFolded: boolean[] = [];
  readonly #span: number;
  readonly #levels = new WeakMap<Row, RowLevels>();
  #names: NameIndex | null = null;

  /** `step` is a index in `drawn.steps`, null for all. */
  constructor(
    readonly drawn: Drawn,
    step: number | null,
  ) {
    const { merged } = drawn;
    const shown = step === null ? null : drawn.steps[step];
    this.#span = shown ? shown.end - shown.start : drawn.span;
    this.rows = HAS_KERNEL && merged ? mergedRows(drawn, merged, step) : packLanes(drawn, step);
    this.rowNumbers = HAS_KERNEL && merged ? merged.row : rowNumbers(drawn.count, this.rows);
  }

  levels(row: Row): RowLevels {
    let levels = this.#levels.get(row);
    if (!levels) {
      levels = new RowLevels(row);
      this.#levels.set(row, levels);
    }
    return levels;
  }

  /** Whether a lane is one row unless the user has chosen. */
  beginsFolded(lane: number): boolean {
    // The loaded events of a lane change with the view; its initial state must not.
    this.#beginsFolded[lane] ??= this.drawn.merged?.sparse || beginsFolded(this.rows[lane], this.#span);
    return this.#beginsFolded[lane];
  }

  /** How long anything runs in a lane (ns). */
  busy(lane: number): number {
    return this.rows[lane].length ? busyTime(this.folded(lane)) : 0;
  }

  /** A lane's events as one row; for lanes that have any. */
  folded(lane: number): Row {
    let row = this.#folded.get(lane);
    if (!row) {
      row = foldRows(this.rows[lane], movesIn(this.drawn));
      this.#folded.set(lane, row);
    }
    return row;
  }

  /** Event ids with the same name as `id`, in time order unless events are merged. */
  sameName(id: number): Uint32Array {
    this.#names ??= new NameIndex(this.drawn);
    return this.#names.same(id);
  }
}
