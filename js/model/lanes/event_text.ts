/** Names for tasks, devices and events. */

import { device, kernels, moving } from "../../../tfvis_nb/kinds.json";
import { isolated } from "../format/bidi";
import type { Drawn } from "../types";
import { deviceLabel, deviceLocation, laneName, taskLabel } from "./labels";

/** A full device name as "worker 1 · GPU:0". */
export function deviceName(device: string): string {
  return isolated(deviceLocation(device));
}

/** The full name of a task, or of a device of one, as "worker 1". */
export function taskName(task: string): string {
  return isolated(deviceLocation(task) || task);
}

/** Where an event ran: "worker 1 · GPU:0 · stream 13". */
export function locationOf(drawn: Drawn, id: number): string {
  const lane = drawn.lanes[drawn.lane[id]];
  return [taskLabel(lane.task), deviceLabel(lane.device), laneName(lane.lane)]
    .filter(Boolean)
    .map(isolated)
    .join(" · ");
}

export function opOf(drawn: Drawn, id: number): string {
  return drawn.ops[drawn.op[id]] ?? "";
}

export function nameOf(drawn: Drawn, id: number): string {
  return drawn.names.get(drawn.name[id]);
}

/** The kind of an event: "op", "kernel", "transfer". */
export function kindOf(drawn: Drawn, id: number): string {
  return kindIn(drawn.categories[drawn.category[id]] ?? "op none");
}

/** The kind in a category, such as "op" in "op launch". */
export function kindIn(category: string): string {
  return category.split(" ")[0];
}

/** The activity in a category, such as "launch" in "op launch". */
export function activityIn(category: string): string {
  return category.split(" ")[1];
}

/** Whether a category is of kernels: the label of an event may contain a kernel's name. */
export function isKernel(category: string): boolean {
  return kernels.includes(kindIn(category));
}

/** Whether something else launched an event. */
export function isLaunched(drawn: Drawn, id: number): boolean {
  return [...device, ...kernels].includes(kindOf(drawn, id));
}

/** Whether an event moves data: a transfer or a copy. */
export function moves(drawn: Drawn, id: number): boolean {
  return moving.includes(kindOf(drawn, id));
}

/** The last scopes of a name: two are mostly enough to know it by among others. */
export function shortName(name: string, scopes = 2): string {
  const parts = name.split("/");
  return parts.length > scopes ? `…/${parts.slice(-scopes).join("/")}` : name;
}

const MOST_SCOPES = 20;

/** How many trailing scopes distinguish the names: at least two. */
export function scopesToTell(names: Iterable<string>): number {
  const whole = [...new Set(names)];
  let scopes = 2;
  // A name of many scopes is recognised, not read.
  while (scopes < MOST_SCOPES && new Set(whole.map((name) => shortName(name, scopes))).size < whole.length)
    scopes++;
  return scopes;
}

const EXECUTOR_LABEL = /^(?:\[[^\]]*\] )*\S* = [^ (]+\((.*)\)$/s;

/** The inputs that an executor's label `name = op(inputs)` lists, without control inputs. */
export function inputsIn(label: string): string[] {
  const inputs = EXECUTOR_LABEL.exec(label)?.[1] ?? "";
  return inputs.split(", ").filter((name) => name !== "" && !name.startsWith("^"));
}
