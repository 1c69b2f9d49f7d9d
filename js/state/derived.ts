/** What follows from the drawn data and the step shown, each made when it is first asked for. */

import { rowNumbers } from "../model/lanes/placement";
import { RowLevels } from "../model/lod/levels";
import { mergedRows } from "../model/lod/merged";
import { packLanes } from "../model/lod/rows";
import { NameIndex } from "../model/search/name_index";
import type { Drawn, Row } from "../model/types";

export class DerivedRows {
  readonly rows: Row[][];
  /** For each event the row of its lane. */
  readonly rowNumbers: Uint32Array;
  readonly #levels = new WeakMap<Row, RowLevels>();
  #names: NameIndex | null = null;

  /** `step` is a place in `drawn.steps`, null for all. */
  constructor(
    readonly drawn: Drawn,
    step: number | null,
  ) {
    const { merged } = drawn;
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

  /** Event ids with the same name as `id`, in time order unless events are merged. */
  sameName(id: number): Uint32Array {
    this.#names ??= new NameIndex(this.drawn);
    return this.#names.same(id);
  }
}
