/** Groups lanes under headers. */

import { host } from "../../../tfvis_nb/kinds.json";
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
  /** Lanes that stand for all of these while the group is collapsed; empty without such. */
  sums: Lane[];
  /** Prefix that a lane's label needs because the header does not show it. */
  context: (lane: Lane) => string;
}

const made = new WeakMap<readonly Lane[], Map<GroupBy, Group[]>>();

/** The groups in the order in which their first lanes come. They depend on all lanes, so that filtering moves nothing. */
export function groupLanes(lanes: readonly Lane[], by: Exclude<GroupBy, "none">): Group[] {
  // Thousands of lanes are not grouped again for each frame that brings more bars.
  const known = made.get(lanes) ?? new Map<GroupBy, Group[]>();
  made.set(lanes, known);
  const groups = known.get(by) ?? grouped(lanes, by);
  known.set(by, groups);
  return groups;
}

/** The lanes of a group and of the groups below it that are not hidden. */
export function lanesOf(group: Group, hidden: ReadonlySet<string>): Lane[] {
  const inner = group.groups.filter((child) => !hidden.has(child.key));
  return [...group.lanes, ...inner.flatMap((child) => lanesOf(child, hidden))];
}

function grouped(every: readonly Lane[], by: Exclude<GroupBy, "none">): Group[] {
  const lanes = every.filter(({ sums }) => !sums);
  const sums = every.filter((lane) => lane.sums);
  if (by === "kind") return byKind(lanes, sums);
  const tasks = partition(lanes, (lane) => lane.task);
  const standIns = partition(sums, deviceKey);
  return [...tasks].flatMap(([task, ofTask]) => {
    const devices = [...partition(ofTask, (lane) => lane.device)];
    const groups = devices.map(([device, ofDevice]) => {
      const group = deviceGroup(task, device, ofDevice);
      return { ...group, sums: standIns.get(group.key) ?? [] };
    });
    // A header over a single header adds nothing.
    if (tasks.size === 1 || devices.length === 1) return groups;
    const inner = groups.map((group, index) => ({
      ...group,
      label: deviceLabel(devices[index][0]) || group.label,
    }));
    const own = groups.flatMap((group) => group.sums);
    // What hosts do lasts as long as the run; whether a task works is seen on its accelerators.
    const working = own.filter(({ kind }) => !host.includes(kind));
    return [
      {
        key: task,
        label: taskHeader(task),
        path: task,
        groups: inner,
        lanes: [],
        sums: working.length > 0 ? working : own,
        context: nothing,
      },
    ];
  });
}

/** The key of the group of a device. */
export const deviceKey = ({ task, device }: Pick<Lane, "task" | "device">) => `${task}\0${device}`;

function deviceGroup(task: string, device: string, lanes: Lane[]): Group {
  const label = locationLabel(task, device) || "unknown device";
  const key = deviceKey(lanes[0]);
  return { key, label, path: device || task, groups: [], lanes, sums: [], context: nothing };
}

/** A local task has no short name, but its header needs one next to other tasks. */
function taskHeader(task: string): string {
  if (task === "") return "unknown task";
  return taskLabel(task) || "localhost";
}

function byKind(lanes: readonly Lane[], sums: readonly Lane[]): Group[] {
  return [...partition(lanes, (lane) => lane.kind)].map(([kind, ofKind]) => ({
    key: `kind:${kind}`,
    label: kind,
    path: kind,
    groups: [],
    lanes: ofKind,
    sums: sums.filter((lane) => lane.kind === kind),
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
