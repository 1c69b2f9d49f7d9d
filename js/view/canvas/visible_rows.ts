/** Walks the rows that are in view, and the bars in them that are wide enough to carry something. */

import { rowTop } from "../../model/lanes/layout";
import type { Row } from "../../model/types";
import type { Store } from "../../state/store";

/** Call `visit` for each row in view with the top (CSS px from the picture's top) and the height of its bars. */
export function eachVisibleRow(store: Store, visit: (row: Row, top: number, height: number) => void): void {
  for (const item of store.arrangement.items) {
    const top = item.y - store.scroll;
    if (top >= store.height) break;
    if (item.type !== "lane" || top + item.height <= store.covered) continue;
    item.rows.forEach((row, index) => {
      const y = rowTop(item, index) - store.scroll + 1;
      const height = item.rowHeight - 2;
      if (y < store.height && y + height > store.covered) visit(row, y, height);
    });
  }
}

/**
 * Call `visit` for each event of `row` that is at least `pixels` CSS pixels wide in view. It walks the level whose
 * buckets are as wide as that, where everything shorter is merged, so the cost follows the pixels, not the events.
 */
export function eachWideBar(
  store: Store,
  row: Row,
  pixels: number,
  visit: (id: number, x0: number, x1: number) => void,
): void {
  const { start: from, end: to } = store.viewport;
  const scale = store.width / (to - from);
  const level = store.derived.levels(row).at(pixels / scale);
  let low = 0;
  let high = level.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (level.end[middle] < from) low = middle + 1;
    else high = middle;
  }
  for (let entry = low; entry < level.length && level.start[entry] < to; entry++) {
    if (level.count[entry] !== 1) continue;
    const x0 = (level.start[entry] - from) * scale;
    const x1 = (level.end[entry] - from) * scale;
    if (x1 - x0 >= pixels) visit(row.ids[level.longest[entry]], x0, x1);
  }
}
