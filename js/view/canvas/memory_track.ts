/** The memory of an allocator in the picture: a filled curve with its peak marked, and its height at the cursor. */

import { formatBytes } from "../../model/format/units";
import type { MemoryItem } from "../../model/lanes/tracks";
import { xAt } from "../../model/viewport";
import { levelAt, memoryKey, type Track } from "../../model/wire/memory";
import type { Store } from "../../state/store";
import type { Tokens } from "../../ui/theme";
import { flag } from "./flag";
import { drawStepLine } from "./step_line";
import type { Surface } from "./surface";

/** Room above the curve (CSS px). */
const ABOVE = 5;

/** `y` gives the height of this many bytes in the picture. */
function eachTrack(store: Store, visit: (item: MemoryItem, y: (level: number) => number) => void): void {
  for (const item of store.arrangement.items) {
    const bottom = item.y - store.scroll + item.height - 1;
    if (item.type === "memory" && bottom > 0 && bottom - item.height < store.height) {
      const whole = fullScale(item.track, store.host.pair?.memory);
      visit(item, (level) => bottom - (level / whole) * (item.height - ABOVE));
    }
  }
}

/** The bytes that are as high as a track: its peak, of two that are compared the higher one of both. */
export function fullScale(track: Track, shared: Readonly<Record<string, number>> | undefined): number {
  return Math.max(track.peak, shared?.[memoryKey(track)] ?? 0);
}

/** The most bytes allocated within each pixel. */
export function drawMemory(surface: Surface, store: Store, tokens: Tokens): void {
  const { context, width } = surface;
  eachTrack(store, ({ track }, y) => {
    const style = { y, colour: tokens.accent, end: Number.POSITIVE_INFINITY, hasDips: false };
    drawStepLine(surface, store, track, style);
    context.fillStyle = tokens.selection;
    context.fillRect(xAt(store.viewport, track.at, width) - 2, y(track.peak) - 3, 5, 5);
  });
}

/** The bytes allocated at the cursor, and the time whose buffers are listed. */
export function drawLevels(surface: Surface, store: Store, tokens: Tokens): void {
  const { context, width } = surface;
  const { cursor, moment, viewport } = store;
  eachTrack(store, ({ track, height }, y) => {
    if (moment?.track === track) {
      context.fillStyle = tokens.selection;
      context.fillRect(xAt(viewport, moment.time, width), y(0) - height, 1, height);
    }
    if (cursor === null) return;
    const text = formatBytes(levelAt(track, cursor));
    flag(surface, tokens, xAt(viewport, cursor, width) + 40, y(0) - 19, text, tokens.accent, 0);
  });
}
