/** How much of each activity is busy over the whole step. */

import { activity } from "../../model/paint/activity";
import { ACTIVITIES, activityColour } from "../../model/paint/palette";
import type { Lane } from "../../model/types";
import { fit, type Viewport } from "../../model/viewport";
import type { Store } from "../../state/store";
import type { Surface } from "./surface";

/** CSS px. */
export const ACTIVITY_HEIGHT = 29;
/** Activities from the bottom up: computing first, waiting last. */
const STACK = [...ACTIVITIES.filter((name) => name !== "communication"), "communication"];

/** The time that the activity is drawn for. */
export function wholeView({ bounds }: Store): Viewport {
  return fit(bounds, bounds, 0.01);
}

export function drawActivity(surface: Surface, store: Store): void {
  const { context } = surface;
  context.clearRect(0, 0, surface.width, ACTIVITY_HEIGHT);
  const bins = Math.max(1, Math.min(surface.element.width, 2000));
  const whole = wholeView(store);
  const { busy, peak } = activity(store.drawn, store.rows, lanesOf(store), whole.start, whole.end, bins);
  if (!(peak > 0)) return;
  const base = new Float32Array(bins);
  const width = surface.width / bins;
  for (const name of STACK) {
    const load = busy[ACTIVITIES.indexOf(name)];
    if (!load) continue;
    context.fillStyle = activityColour(name, store.painting.theme);
    context.beginPath();
    for (let bin = 0; bin < bins; bin++) {
      const amount = load[bin];
      if (amount <= 0) continue;
      // The square root keeps a single busy lane visible among dozens; half a pixel keeps a single event
      // visible.
      const low = Math.sqrt(base[bin] / peak) * (ACTIVITY_HEIGHT - 4);
      base[bin] += amount;
      const high = Math.max(Math.sqrt(base[bin] / peak) * (ACTIVITY_HEIGHT - 4), low + 0.5);
      context.rect(bin * width, ACTIVITY_HEIGHT - 2 - high, width, high - low);
    }
    context.fill();
  }
}

/** The lanes shown; where only parts of them are here, the lanes that stand for those of their devices. */
function lanesOf({ arrangement, drawn }: Store): number[] {
  const shown = arrangement.items.flatMap((item) =>
    item.type === "lane" ? [item.lane] : item.type === "group" && item.collapsed ? item.preview : [],
  );
  if (drawn.rest !== "lanes") return [...new Set(shown)];
  const devices = new Set(shown.map((lane) => deviceOf(drawn.lanes[lane])));
  return drawn.lanes.filter((lane) => lane.sums && devices.has(deviceOf(lane))).map(({ id }) => id);
}

const deviceOf = ({ task, device }: Lane) => `${task}\0${device}`;
