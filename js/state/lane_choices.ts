/** The user's choices about lanes: folded groups and lanes, hidden and pinned ones, by their keys. */

import { type Arrangement, type LaneItem, ROW_HEIGHT } from "../model/lanes/layout";
import { type BarsItem, TRACK_HEIGHT } from "../model/lanes/tracks";

/** Higher rows and curves show no more. */
const MOST_SCALE = 3;

export class LaneChoices {
  readonly collapsed = new Set<string>();
  /** Whether a lane is one row, where the user has chosen. */
  readonly folded = new Map<string, boolean>();
  /** Lanes that would begin folded and have room for all of their rows. */
  readonly unfolded = new Set<string>();
  /** How many times their least height rows, memory and counters have. */
  scale = 1;
  readonly hidden = new Set<string>();
  /** In the order in which they were pinned. */
  pinned: readonly string[] = [];

  /** Whether buffers of memory are shown as bars. */
  tensors = false;

  /** Whether the busiest lanes and groups come first. */
  byBusy = false;

  /** The groups that a filter of lanes has opened. */
  #opened: readonly string[] = [];
  /** Hidden and pinned lanes of the run while steps are aligned, otherwise of aligned steps. */
  #others: readonly (readonly string[])[] = [[], []];
  /** The pinned lanes that the user did not pin. */
  #gathered: readonly string[] = [];

  /** `changed` repeats the layout of the lanes. */
  constructor(readonly changed: () => void) {}

  /** Fold a group, or unfold it. */
  fold(key: string): void {
    if (!this.collapsed.delete(key)) this.collapsed.add(key);
    this.changed();
  }

  /** Have the busiest lanes and groups come first, or no longer. */
  sortByBusy(sorted: boolean): void {
    this.byBusy = sorted;
    this.changed();
  }

  /** Open the groups with lanes that match the filter; close groups that the previous filter opened. */
  openFound(keys: readonly string[]): void {
    for (const key of this.#opened) this.collapsed.add(key);
    this.#opened = keys.filter((key) => this.collapsed.delete(key));
  }

  /** Fold all groups: of each remains one line that shows its activity. */
  foldAll(arrangement: Arrangement): void {
    for (const item of arrangement.items) if (item.type === "group") this.collapsed.add(item.key);
    this.changed();
  }

  /** Fold a lane to one row, or show all of its rows. */
  foldLane({ key, folded, depth }: LaneItem | BarsItem): void {
    if (depth < 2) return;
    this.folded.set(key, !folded);
    this.changed();
  }

  /** Unfold lanes that begin folded, those with the fewest rows first, while all lanes together need `height` (CSS px). */
  useRoom({ items, height: used }: Arrangement, height: number): void {
    let left = height - used;
    const lanes = items.filter((item) => item.type === "lane").filter(({ folded }) => folded);
    for (const { key, depth } of lanes.sort((one, other) => one.depth - other.depth)) {
      left -= (depth - 1) * ROW_HEIGHT;
      if (left < 0) break;
      this.unfolded.add(key);
    }
    if (this.unfolded.size > 0) this.changed();
  }

  /** Make rows, memory and counters higher while all lanes together need less than `height` (CSS px). */
  grow({ items, height: used }: Arrangement, height: number): void {
    let [least, now] = [0, 0];
    for (const item of items)
      if (item.type === "lane") {
        least += item.rows.length * ROW_HEIGHT;
        now += item.rows.length * item.rowHeight;
      } else if ((item.type === "memory" || item.type === "counter") && item.height >= TRACK_HEIGHT) {
        least += TRACK_HEIGHT;
        now += item.height;
      }
    this.scale = Math.min(Math.max((height - used + now) / (least || 1), 1), MOST_SCALE);
    this.changed();
  }

  /** Fold every lane to one row; where all are, unfold them. */
  foldLanes(arrangement: Arrangement): void {
    const lanes = arrangement.items.filter((item) => "depth" in item).filter(({ depth }) => depth > 1);
    const fold = lanes.some((lane) => !lane.folded);
    for (const { key } of lanes) this.folded.set(key, fold);
    this.changed();
  }

  /** Show buffers of memory as bars, or no longer. */
  showTensors(shown: boolean): void {
    this.tensors = shown;
    this.changed();
  }

  hide(key: string): void {
    this.hidden.add(key);
    this.changed();
  }

  /** Hide and pin these lanes alone. */
  restore(hidden: readonly string[], pinned: readonly string[]): void {
    this.#choose(hidden, pinned);
    this.changed();
  }

  /** Called before steps are aligned or no longer: aligned steps have lanes of their own, which no saved view names. */
  exchange(): void {
    const [hidden, pinned] = this.#others;
    this.#others = [[...this.hidden], this.pinned];
    this.#choose(hidden, pinned);
  }

  #choose(hidden: readonly string[], pinned: readonly string[]): void {
    this.hidden.clear();
    for (const key of hidden) this.hidden.add(key);
    this.pinned = pinned;
  }

  unhideAll(): void {
    this.hidden.clear();
    this.changed();
  }

  /** Pin a lane to the top, or let it go. */
  pin(key: string): void {
    const others = this.pinned.filter((other) => other !== key);
    this.pinned = others.length < this.pinned.length ? others : [...others, key];
    this.changed();
  }

  /**
   * Pins these lanes to the top together, instead of those before; lanes that the user pinned stay below
   * them.
   */
  gather(keys: readonly string[]): void {
    const before = this.#gathered;
    if (before.length + keys.length === 0) return;
    const others = this.pinned.filter((key) => !before.includes(key) && !keys.includes(key));
    this.#gathered = keys.filter((key) => before.includes(key) || !this.pinned.includes(key));
    this.pinned = [...keys, ...others];
    this.changed();
  }

  /** Show the lanes of these groups; with `all`, every lane there is. */
  uncover(keys: readonly string[], all: boolean): void {
    for (const key of all ? [...this.collapsed] : keys) this.collapsed.delete(key);
    if (all) this.hidden.clear();
    this.changed();
  }
}
