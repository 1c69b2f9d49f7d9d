/** The button of a label that folds a lane, or a track of own bars, to one row. */

import type { LaneItem } from "../../model/lanes/layout";
import type { BarsItem } from "../../model/lanes/tracks";
import type { Store } from "../../state/store";

interface FoldLaneProps {
  store: Store;
  item: LaneItem | BarsItem;
  called: string;
  /** How far below the top of the label (CSS px). */
  top: number;
}

export function FoldLane({ store, item, called, top }: FoldLaneProps) {
  if (item.depth < 2) return null;
  return (
    <button
      type="button"
      class="fold"
      style={{ top: `${top}px` }}
      aria-expanded={!item.folded}
      aria-label={`${item.depth} rows of ${called}`}
      title={item.folded ? `Show all ${item.depth} rows (Z)` : "Fold to one row (Z)"}
      onClick={() => store.lanes.foldLane(item)}
    >
      {item.folded ? "▸" : "▾"}
    </button>
  );
}

/** The number of rows, after the name of a folded lane. */
export function Depth({ item }: { item: LaneItem | BarsItem }) {
  return item.folded ? (
    <small class="depth" title={`${item.depth} rows`}>
      ▸<span class="visually-hidden">{` ${item.depth} rows`}</span>
    </small>
  ) : null;
}
