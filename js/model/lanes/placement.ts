/** Where in an arrangement an event is. */

import type { Drawn, Row } from "../types";
import { type Arrangement, type LaneItem, ROW_HEIGHT, rowTop } from "./layout";
import { shownWith } from "./shown_with";

/** For each event the row of its lane that holds it; events of other steps keep 0. */
export function rowNumbers(count: number, rows: readonly (readonly Row[])[]): Uint32Array {
  const numbers = new Uint32Array(count);
  for (const lane of rows) for (const row of lane) for (const id of row.ids) numbers[id] = row.index;
  return numbers;
}

/** From the edge of a lane to where arrows end in it (CSS px). */
const EDGE = 2;

export class Placement {
  readonly #drawn: Drawn;
  readonly #arrangement: Arrangement;
  readonly #lanes = new Map<number, LaneItem>();
  readonly #numbers: Uint32Array;
  /** Whether an event is displayed; see `shownWith`. */
  readonly isShown: (id: number) => boolean;

  /** `numbers` as `rowNumbers` gives them for the rows that are arranged; `step` the index of the step shown.
   * */
  constructor(drawn: Drawn, arrangement: Arrangement, numbers: Uint32Array, step: number | null) {
    this.#drawn = drawn;
    this.#arrangement = arrangement;
    this.#numbers = numbers;
    this.isShown = shownWith(drawn, step);
    for (const item of arrangement.items) if (item.type === "lane") this.#lanes.set(item.lane, item);
  }

  /** The lane's item; undefined when it is hidden, filtered out or in a collapsed group. */
  lane(lane: number): LaneItem | undefined {
    return this.#lanes.get(lane);
  }

  /** Top of an event's row (CSS px), or of the collapsed group that holds it; null when it is nowhere. */
  top(id: number): number | null {
    if (!this.isShown(id)) return null;
    const lane = this.#drawn.lane[id];
    const item = this.#lanes.get(lane);
    if (item) return rowTop(item, item.folded ? 0 : this.#numbers[id]);
    const group = this.#arrangement.items.find(
      (candidate) => candidate.type === "group" && candidate.collapsed && candidate.lanes.includes(lane),
    );
    return group ? group.y + 2 : null;
  }

  /** Height of an event's bar (CSS px), 1 below the top of its row. */
  height(id: number): number {
    return (this.#lanes.get(this.#drawn.lane[id])?.rowHeight ?? ROW_HEIGHT) - 2;
  }

  /**
   * Where the arrow between two events leaves one and meets the other (CSS px): in the middle of their bars, but at the
   * nearer edge of a folded lane, through whose labels it would run. Null when one of them is nowhere.
   */
  ends(from: number, to: number): [number, number] | null {
    const [source, target] = [this.top(from), this.top(to)];
    if (source === null || target === null) return null;
    return [this.#end(from, source, target), this.#end(to, target, source)];
  }

  #end(id: number, top: number, other: number): number {
    const item = this.#lanes.get(this.#drawn.lane[id]);
    if (!item?.folded) return top + this.height(id) / 2 + 1;
    return other < top ? item.y + EDGE : item.y + item.height - EDGE;
  }
}
