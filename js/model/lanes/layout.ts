/** The layout from top to bottom: groups under headers, lanes and their rows, in CSS px. */

import { host } from "../../../tfvis_nb/kinds.json";
import type { Clock, Drawn, Lane, Row } from "../types";
import type { OwnBars } from "../wire/own_tracks";
import { commonClock } from "./clock_bounds";
import { deviceLabel, laneName, locationLabel, matchesLane, taskLabel } from "./labels";
import { type AnyTrackItem, OWN_TRACKS, type PlacedTracks, shownTracks, type TrackOptions } from "./tracks";

export const GROUP_HEIGHT = 24;
export const ROW_HEIGHT = 17;
/** Room above the first row of each lane and below its last, so that a lane is as high as a button should be. */
const LANE_PAD_ABOVE = 3;
const LANE_PAD_BELOW = 4;

export interface GroupItem {
  type: "group";
  key: string;
  label: string;
  /** The full name of the group. */
  path: string;
  level: 0 | 1;
  y: number;
  height: number;
  collapsed: boolean;
  /** Events of its lanes in the present step, or the bars of own tracks. */
  events: number;
  /** All lanes in it that are not hidden or filtered, even when it is collapsed. */
  lanes: number[];
  /** The lanes whose activity it shows when it is collapsed. */
  preview: number[];
  /** In place of lanes, the bars of the user's own tracks. */
  bars: readonly OwnBars[];
  /** Clock of all its lanes; null if the enclosing group has the same. */
  clock: Clock | null;
}

export interface LaneItem {
  type: "lane";
  key: string;
  lane: number;
  label: string;
  /** Where the lane is if no group above names it; else "". */
  context: string;
  y: number;
  height: number;
  /** The lane's rows, or the one that stands for all of them. */
  rows: Row[];
  /** From one row to the next. */
  rowHeight: number;
  /** How many rows the lane has unfolded. */
  depth: number;
  folded: boolean;
  pinned: boolean;
}

export type Item = GroupItem | LaneItem | AnyTrackItem;

export interface Arrangement {
  items: Item[];
  height: number;
}

export interface StickyGroup {
  item: GroupItem;
  /** Where its header is (CSS px from the top of the picture): 0, or less where the next header pushes it out. */
  top: number;
}

export interface ArrangeOptions extends TrackOptions {
  groupBy: GroupBy;
  /** Keys of groups whose lanes are not shown. */
  collapsed: ReadonlySet<string>;
  /** Keys of lanes and groups that are left out. */
  hidden: ReadonlySet<string>;
  /** Keys of lanes that come first, in this order, and leave their group. */
  pinned: readonly string[];
  /** Words that the lane's task, device and name must all contain, in full or short spelling. */
  filter: string;
  /** The one row of a lane that is folded; null for lanes that are not. */
  folded: (lane: Lane) => Row | null;
  /** How long anything runs in a lane; where given, the busiest lanes and groups come first. */
  busy?: (lane: Lane) => number;
}

const NONE: ReadonlySet<string> = new Set();

const keys = new WeakMap<Lane, string>();

/** The key of a lane, the same in every step and every grouping. */
export function laneKey(lane: Lane): string {
  let key = keys.get(lane);
  if (key === undefined) {
    key = `${lane.task}\0${lane.device}\0${lane.lane}`;
    keys.set(lane, key);
  }
  return key;
}

/** Lay out the lanes that have events among `rows` (by lane id, as `packLanes` gives them). */
export function arrange(drawn: Drawn, rows: Row[][], options: ArrangeOptions): Arrangement {
  const items: Item[] = [];
  const pins = new Set(options.pinned);
  const words = options.filter.toLowerCase().split(/\s+/).filter(Boolean);
  const isShown = (lane: Lane) =>
    !lane.sums &&
    rows[lane.id].length > 0 &&
    !(options.hidden.size && options.hidden.has(laneKey(lane))) &&
    (words.length === 0 || matchesLane(lane, words));
  const { busy } = options;
  const sorted = <T>(each: readonly T[], of: (one: T) => number) =>
    busy ? [...each].sort((one, other) => of(other) - of(one)) : each;
  const sortedLanes = (lanes: readonly Lane[]) => sorted(lanes, (lane) => busy?.(lane) ?? 0);
  const sortedGroups = (groups: readonly Group[]) =>
    sorted(groups, ({ sums, lanes, groups: inner }) => {
      const each = sums.length > 0 ? sums : [...lanes, ...inner.flatMap((group) => group.lanes)];
      return each.reduce((most, lane) => Math.max(most, busy?.(lane) ?? 0), 0);
    });
  const isPinned = (lane: Lane) => pins.size > 0 && pins.has(laneKey(lane));
  let y = 0;
  const addLane = (lane: Lane, context: string, pinned: boolean) => {
    const own = rows[lane.id];
    const depth = own.length;
    const one = depth > 1 ? options.folded(lane) : null;
    const shown = one ? [one] : own;
    const rowHeight = Math.floor(ROW_HEIGHT * (options.scale ?? 1));
    const height = LANE_PAD_ABOVE + shown.length * rowHeight + LANE_PAD_BELOW;
    const [key, label] = [laneKey(lane), laneName(lane.lane)];
    const folded = one !== null;
    items.push({
      type: "lane",
      key,
      lane: lane.id,
      label,
      context,
      y,
      height,
      rows: shown,
      rowHeight,
      depth,
      folded,
      pinned,
    });
    y += height;
  };
  const tracks = shownTracks(options, options.hidden, words);
  const addTracks = (placed: PlacedTracks, context: string) => {
    for (const item of placed.items) {
      items.push({ ...item, context, y });
      y += item.height;
    }
  };
  const addGroup = (group: Group, level: 0 | 1, around: Clock | null) => {
    if (options.hidden.has(group.key)) return;
    const lanes = lanesOf(group, options.hidden).filter((lane) => isShown(lane) && !isPinned(lane));
    const own = tracks.filter((placed) =>
      [group, ...group.groups].some(({ key }) => key === deviceKey(placed)),
    );
    if (lanes.length + own.length === 0) return;
    const collapsed = options.collapsed.has(group.key);
    const { key, label, path } = group;
    const isSparse = drawn.rest === "lanes";
    const events = lanes.reduce(
      (sum, lane) => sum + (isSparse ? lane.events : countEvents(rows[lane.id])),
      0,
    );
    const ids = lanes.map((lane) => lane.id);
    const common = commonClock(lanesOf(group, NONE));
    items.push({
      type: "group",
      key,
      label,
      path,
      level,
      y,
      height: GROUP_HEIGHT,
      collapsed,
      events,
      lanes: ids,
      preview:
        group.sums.length > 0 ? group.sums.map(({ id }) => id).filter((id) => rows[id].length > 0) : ids,
      bars: [],
      clock: common === around ? null : common,
    });
    y += GROUP_HEIGHT;
    if (collapsed) return;
    for (const inner of sortedGroups(group.groups)) addGroup(inner, 1, common);
    const direct = new Set(group.lanes);
    for (const lane of sortedLanes(lanes)) if (direct.has(lane)) addLane(lane, group.context(lane), false);
    for (const each of own) if (deviceKey(each) === group.key) addTracks(each, "");
  };
  const byKey = new Map(pins.size ? drawn.lanes.map((lane) => [laneKey(lane), lane]) : []);
  for (const key of pins) {
    const lane = byKey.get(key);
    if (lane !== undefined && isShown(lane)) addLane(lane, locationLabel(lane.task, lane.device), true);
  }
  if (options.groupBy === "none") {
    for (const lane of sortedLanes(drawn.lanes)) {
      if (isShown(lane) && !isPinned(lane)) addLane(lane, locationLabel(lane.task, lane.device), false);
    }
  } else {
    for (const group of sortedGroups(groupLanes(drawn.lanes, options.groupBy))) addGroup(group, 0, null);
  }
  const [own, others] = [true, false].map((isOwn) =>
    tracks.filter((each) => (each.own !== undefined) === isOwn),
  );
  own.sort((a, b) => a.own! - b.own!);
  const groups = new Set(tracks.length ? drawn.lanes.map(deviceKey) : []);
  for (const each of others) {
    // A counter may be of a process without lanes.
    const hasNone = options.groupBy !== "device" || !each.device || !groups.has(deviceKey(each));
    if (hasNone) addTracks(each, locationLabel(each.task, each.device));
  }
  if (own.length && !options.hidden.has(OWN_TRACKS)) {
    const collapsed = options.groupBy !== "none" && options.collapsed.has(OWN_TRACKS);
    if (options.groupBy !== "none") {
      const [label, height] = ["Own tracks", GROUP_HEIGHT];
      const bars = own.flatMap(({ items }) =>
        items.flatMap((item) => (item.type === "bars" && item.depth ? item.track : [])),
      );
      const events = bars.reduce((sum, { starts }) => sum + starts.length, 0);
      const none = { level: 0 as const, lanes: [], preview: [], clock: null };
      const shown = { key: OWN_TRACKS, label, path: label, y, height, collapsed, events, bars };
      items.push({ type: "group", ...shown, ...none });
      y += height;
    }
    if (!collapsed) for (const each of own) addTracks(each, "");
  }
  return { items, height: y };
}

/** The group that the topmost lane in view belongs to. Its header stays in sight and covers what is below it. */
export function stickyGroup({ items }: Arrangement, scroll: number): StickyGroup | null {
  const at = items.findLastIndex((item) => item.type === "group" && item.y < scroll);
  if (at < 0) return null;
  const next = items.find((item, index) => index > at && item.type === "group");
  const top = next ? Math.min(0, next.y - scroll - GROUP_HEIGHT) : 0;
  return { item: items[at] as GroupItem, top };
}

/** The item at `y` (CSS px from the top) and the row in its lane; null if there is nothing. */
export function itemAt(arrangement: Arrangement, y: number): { item: Item; row: number } | null {
  const { items, height } = arrangement;
  if (!(y >= 0 && y < height)) return null;
  let low = 0;
  let high = items.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (items[middle].y <= y) low = middle;
    else high = middle - 1;
  }
  const item = items[low];
  if (item.type !== "lane") return { item, row: 0 };
  const row = Math.floor((y - item.y - LANE_PAD_ABOVE) / item.rowHeight);
  return { item, row: Math.min(Math.max(row, 0), item.rows.length - 1) };
}

/** The top of a row of a lane (CSS px from the top). */
export function rowTop(item: LaneItem, row: number): number {
  return item.y + LANE_PAD_ABOVE + row * item.rowHeight;
}

function countEvents(rows: readonly Row[]): number {
  const inRow = (row: Row) => row.merged?.count.reduce((sum, count) => sum + count, 0) ?? row.ids.length;
  return rows.reduce((sum, row) => sum + inRow(row), 0);
}

type GroupBy = "device" | "kind" | "none";

/** A header, the groups below it and the lanes directly below it. */
interface Group {
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
function groupLanes(lanes: readonly Lane[], by: Exclude<GroupBy, "none">): Group[] {
  // Thousands of lanes are not grouped again for each frame that brings more bars.
  const known = made.get(lanes) ?? new Map<GroupBy, Group[]>();
  made.set(lanes, known);
  const groups = known.get(by) ?? grouped(lanes, by);
  known.set(by, groups);
  return groups;
}

/** The lanes of a group and of the groups below it that are not hidden. */
function lanesOf(group: Group, hidden: ReadonlySet<string>): Lane[] {
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
const deviceKey = ({ task, device }: Pick<Lane, "task" | "device">) => `${task}\0${device}`;

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
