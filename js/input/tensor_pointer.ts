/** The pointer over the bars of tensors and of the user's own tracks. */

import { itemAt } from "../model/lanes/layout";
import { barTop } from "../model/lanes/tracks";
import { hitRow } from "../model/paint/raster";
import type { Row } from "../model/types";
import { timeAt } from "../model/viewport";
import type { OwnBars } from "../model/wire/own_tracks";
import type { Store } from "../state/store";
import type { Tensor } from "../state/tensors";

/** The buffer at a position in the lanes (CSS px), and how many share its pixel; null without one. */
export function tensorAt(store: Store, x: number, y: number): (Tensor & { count: number }) | null {
  const item = itemAt(store.arrangement, y + store.scroll)?.item;
  if (item?.type !== "tensors") return null;
  const inside = y + store.scroll - item.y;
  const under = item.tensors.rows.find(({ top, height }) => top <= inside && inside < top + height);
  const hit = under && hitIn(store, under.row, x);
  return hit ? { track: item.track, at: hit.id, count: hit.count } : null;
}

/** The same of a bar of an own track. */
export function barAt(
  store: Store,
  x: number,
  y: number,
): { track: OwnBars; at: number; count: number } | null {
  const item = itemAt(store.arrangement, y + store.scroll)?.item;
  if (item?.type !== "bars") return null;
  const inside = y + store.scroll - item.y;
  const under = item.rows.findLast((_, row) => barTop(row) <= inside);
  const hit = under && hitIn(store, under, x);
  return hit ? { track: item.track, at: hit.id, count: hit.count } : null;
}

function hitIn(store: Store, row: Row, x: number): { id: number; count: number } | null {
  const nsPerPixel = (store.viewport.end - store.viewport.start) / store.width;
  return hitRow(row, store.derived.levels(row), timeAt(store.viewport, x, store.width), nsPerPixel, 3);
}

/** Select the op that allocated a buffer; false if it is not in the trace. */
export function selectMaker(store: Store, { track, at }: Tensor): boolean {
  if (!track.events[at]) return false;
  store.select(null);
  store.setPanel({ panelOpen: true });
  store.selectInRun({ events: [track.events[at] - 1] });
  return true;
}
