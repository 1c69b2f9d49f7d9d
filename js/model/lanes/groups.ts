/** Groups lanes under headers. */

import type { Lane } from "../types";
import { deviceLabel, locationLabel, taskLabel } from "./labels";

export type GroupBy = "device" | "kind" | "none";

/** A header, the groups below it and the lanes directly below it. */
export interface Group {
  key: string;
  label: string;
  path: string;
  groups: Group[];
  lanes: Lane[];
  /** Prefix that a lane's label needs because the header does not show it. */
  context: (lane: Lane) => string;
}

/** The groups in the order in which their first lanes come. They depend on all lanes, so that filtering moves nothing. */
export function groupLanes(lanes: readonly Lane[], by: Exclude<GroupBy, "none">): Group[] {
  if (by === "kind") return byKind(lanes);
  const tasks = partition(lanes, (lane) => lane.task);
  return [...tasks].flatMap(([task, ofTask]) => {
    const devices = [...partition(ofTask, (lane) => lane.device)];
    const groups = devices.map(([device, ofDevice]) => deviceGroup(task, device, ofDevice));
    // A header over a single header adds nothing.
    if (tasks.size === 1 || devices.length === 1) return groups;
    const inner = groups.map((group, index) => ({
      ...group,
      label: deviceLabel(devices[index][0]) || group.label,
    }));
    return [{ key: task, label: taskHeader(task), path: task, groups: inner, lanes: [], context: nothing }];
  });
}

function deviceGroup(task: string, device: string, lanes: Lane[]): Group {
  const label = locationLabel(task, device) || "unknown device";
  return { key: `${task}\0${device}`, label, path: device || task, groups: [], lanes, context: nothing };
}

/** A local task has no short name, but its header needs one next to other tasks. */
function taskHeader(task: string): string {
  if (task === "") return "unknown task";
  return taskLabel(task) || "localhost";
}

function byKind(lanes: readonly Lane[]): Group[] {
  return [...partition(lanes, (lane) => lane.kind)].map(([kind, ofKind]) => ({
    key: `kind:${kind}`,
    label: kind,
    path: kind,
    groups: [],
    lanes: ofKind,
    context: (lane) => locationLabel(lane.task, lane.device),
  }));
}

function nothing(): string {
  return "";
}

function partition(lanes: readonly Lane[], key: (lane: Lane) => string): Map<string, Lane[]> {
  const parts = new Map<string, Lane[]>();
  for (const lane of lanes) {
    const part = parts.get(key(lane));
    if (part === undefined) parts.set(key(lane), [lane]);
    else part.push(lane);
  }
  return parts;
}
