/** How tasks, devices and events are called in the panels. */

import { isolated } from "../../model/format/bidi";
import { laneLabel, placeLabel, taskLabel } from "../../model/lanes/labels";
import type { Store } from "../../state/store";

/** A full device name as "worker 1 · GPU:0". */
export function deviceName(device: string): string {
  const at = device.indexOf("/device:");
  return isolated(at < 0 ? placeLabel("", device) : placeLabel(device.slice(0, at), device));
}

/** A full task name as "worker 1". */
export function taskName(task: string): string {
  return isolated(taskLabel(task) || task);
}

/** Where an event ran: "worker 1 · GPU:0 · stream 13". */
export function placeOf(store: Store, id: number): string {
  const lane = store.drawn.lanes[store.drawn.lane[id]];
  return [placeLabel(lane.task, lane.device), laneLabel(lane.lane)].filter(Boolean).map(isolated).join(" · ");
}

export function opOf(store: Store, id: number): string {
  return store.drawn.ops[store.drawn.op[id]] ?? "";
}

export function nameOf(store: Store, id: number): string {
  return store.drawn.names.get(store.drawn.name[id]);
}

export function categoryOf(store: Store, id: number): string {
  return store.drawn.categories[store.drawn.category[id]] ?? "op";
}

/** The last two scopes of a name, enough to know it by among others. */
export function shortName(name: string): string {
  const parts = name.split("/");
  return parts.length > 2 ? `…/${parts.slice(-2).join("/")}` : name;
}
