/** The pointer over the bars of tensors. */

import { itemAt } from "../model/lanes/layout";
import { hitRow } from "../model/paint/raster";
import { timeAt } from "../model/viewport";
import type { Store } from "../state/store";
import type { Tensor } from "../state/tensors";

/** The buffer at a position in the lanes (CSS px), and how many share its pixel; null where there is none. */
export function tensorAt(store: Store, x: number, y: number): (Tensor & { count: number }) | null {
  const item = itemAt(store.arrangement, y + store.scroll)?.item;
  if (item?.type !== "tensors") return null;
  const inside = y + store.scroll - item.y;
  const under = item.tensors.rows.find(({ top, height }) => top <= inside && inside < top + height);
  if (!under) return null;
  const nsPerPixel = (store.viewport.end - store.viewport.start) / store.width;
  const levels = store.derived.levels(under.row);
  const hit = hitRow(under.row, levels, timeAt(store.viewport, x, store.width), nsPerPixel, 3);
  return hit && { track: item.track, at: hit.id, count: hit.count };
}

/** Select the op that allocated a buffer; false where it is not in the trace. */
export function selectMaker(store: Store, { track, at }: Tensor): boolean {
  if (!track.events[at]) return false;
  store.select(null);
  store.setPanel({ panelOpen: true });
  store.selectInRun({ events: [track.events[at] - 1] });
  return true;
}
