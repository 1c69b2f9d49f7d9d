/** The time axis above the lanes. */

import type { Ruler } from "../../model/format/ticks";
import { NO_STEP } from "../../model/types";
import { xAt } from "../../model/viewport";
import type { Store } from "../../state/store";
import { timeText } from "../../state/wall_clock";
import type { Tokens } from "../../ui/theme";
import type { Surface } from "./surface";

/** Room for the time of the cursor at its right (CSS px); a date takes twice as much. */
const CHIP_FLIP_PX = 90;
/** From the cursor's time chip to the letters of a tick (CSS px). */
const CHIP_GAP_PX = 4;

/** Whether the time of the cursor stands at its left, because the axis ends too near at its right. */
export function isFlipped(store: Store, x: number, width: number): boolean {
  return x > width - (store.isWallClock ? 2 : 1) * CHIP_FLIP_PX;
}

export function drawRuler(surface: Surface, store: Store, tokens: Tokens, ruler: Ruler): void {
  const { context } = surface;
  context.fillStyle = tokens.panel;
  context.fillRect(0, 0, surface.width, surface.height);
  context.font = `10.5px ${tokens.font}`;
  context.textBaseline = "alphabetic";
  drawSteps(surface, store, tokens);
  let free = 0;
  const chip = chipAt(surface, store);
  if (ruler.base && !(chip && chip.from < 5 + context.measureText(ruler.base).width)) {
    context.fillStyle = tokens.text;
    context.fillText(ruler.base, 5, 15);
    free = 5 + context.measureText(ruler.base).width + 8;
  }
  for (const tick of ruler.ticks) {
    context.fillStyle = tokens.line;
    context.fillRect(Math.round(tick.x), 0, 1, surface.height);
    const width = context.measureText(tick.label).width;
    if (tick.x + 5 < free || tick.x + 5 + width > surface.width) continue;
    if (chip && tick.x + 5 + width > chip.from && tick.x + 5 < chip.to) continue;
    context.fillStyle = tokens.muted;
    context.fillText(tick.label, tick.x + 5, 15);
    free = tick.x + 5 + width + 6;
  }
}

/** Position of the cursor's time over the axis; null without a cursor. */
function chipAt({ context, width }: Surface, store: Store): { from: number; to: number } | null {
  const { cursor, viewport } = store;
  if (cursor === null) return null;
  const x = xAt(viewport, cursor, width);
  const text = timeText(store, cursor, (viewport.end - viewport.start) / Math.max(width, 1));
  const wide = context.measureText(text).width + 12;
  const from = isFlipped(store, x, width) ? x - wide : x;
  return { from: from - CHIP_GAP_PX, to: from + wide + CHIP_GAP_PX };
}

/** A thin bar at the axis's foot for each step, from its start to its end. */
function drawSteps(surface: Surface, store: Store, tokens: Tokens): void {
  const { steps } = store.drawn;
  if (steps.length < 2 || store.step !== null) return;
  const { context } = surface;
  context.fillStyle = tokens.accent;
  steps.forEach((step, index) => {
    if (step.step === NO_STEP) return;
    const x0 = xAt(store.viewport, step.start, surface.width);
    const x1 = xAt(store.viewport, step.end, surface.width);
    if (x1 < 0 || x0 > surface.width) return;
    context.globalAlpha = index % 2 ? 0.45 : 0.8;
    context.fillRect(x0, surface.height - 3, Math.max(x1 - x0, 1), 3);
  });
  context.globalAlpha = 1;
}
