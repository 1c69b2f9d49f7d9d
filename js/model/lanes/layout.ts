/** The layout from top to bottom: groups, lanes and their rows, in CSS px. */

import type { Clock, Drawn, Lane, Row } from "../types";
import type { Track } from "../wire/memory";
import { commonClock } from "./clock_bounds";
import { type Group, type GroupBy, groupLanes } from "./groups";
import { laneName, locationLabel, matchesLane } from "./labels";
import type { TensorRows } from "./tensor_rows";

export type { GroupBy } from "./groups";

export const GROUP_HEIGHT = 22;
export const ROW_HEIGHT = 17;
/** Room above the first row of each lane and below its last, so that a lane is as high as a button should be. */
const LANE_PAD_ABOVE = 3;
const LANE_PAD_BELOW = 4;
const MEMORY_HEIGHT = 38;
const LOW_MEMORY_HEIGHT = 24;
/** An allocator with a smaller part of the highest peak gets a low lane. */
const LOW_MEMORY_SHARE = 0.02;

export interface GroupItem {
  type: "group";
  key: string;
  label: string;
  /** The full name of what is grouped. */
  path: string;
  level: 0 | 1;
  y: number;
  height: number;
  collapsed: boolean;
  /** Events of its lanes in the present step. */
  events: number;
  /** All lanes in it that are not hidden or filtered, also when it is collapsed. */
  lanes: number[];
  /** Of all its lanes, unless the group around it has the same. */
  clock: Clock | null;
}

export interface LaneItem {
  type: "lane";
  key: string;
  lane: number;
  label: string;
  /** Where the lane is, when no group above says so; else "". */
  context: string;
  y: number;
  height: number;
  /** The lane's rows, or the one that stands for all of them. */
  rows: Row[];
  /** How many rows the lane has unfolded. */
  depth: number;
  folded: boolean;
  pinned: boolean;
}

/** The memory of an allocator. */
export interface MemoryItem {
  type: "memory";
  key: string;
  track: Track;
  /** Where it is, when no group above says so; else "". */
  context: string;
  y: number;
  height: number;
}

/** The buffers of an allocator, each as a bar. */
export interface TensorsItem extends Omit<MemoryItem, "type"> {
  type: "tensors";
  tensors: TensorRows;
}

export type Item = GroupItem | LaneItem | MemoryItem | TensorsItem;

export interface Arrangement {
  items: Item[];
  height: number;
}

export interface ArrangeOptions {
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
  /** Memory of allocators, below the lanes of their devices. */
  tracks: readonly Track[];
  /** The bars of its buffers; null where they are not shown. */
  tensors: (track: Track) => TensorRows | null;
}

const NONE: ReadonlySet<string> = new Set();

/** The key of a lane, the same in every step and every grouping. */
export function laneKey(lane: Lane): string {
  return `${lane.task}\0${lane.device}\0${lane.lane}`;
}

/** Lay out the lanes that have events among `rows` (by lane id, as `packLanes` gives them). */
export function arrange(drawn: Drawn, rows: Row[][], options: ArrangeOptions): Arrangement {
  const items: Item[] = [];
  const pins = new Set(options.pinned);
  const words = options.filter.toLowerCase().split(/\s+/).filter(Boolean);
  const isShown = (lane: Lane) =>
    rows[lane.id].length > 0 && !options.hidden.has(laneKey(lane)) && matchesLane(lane, words);
  let y = 0;
  const addLane = (lane: Lane, context: string, pinned: boolean) => {
    const own = rows[lane.id];
    const depth = own.length;
    const one = depth > 1 ? options.folded(lane) : null;
    const shown = one ? [one] : own;
    const height = LANE_PAD_ABOVE + shown.length * ROW_HEIGHT + LANE_PAD_BELOW;
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
      depth,
      folded,
      pinned,
    });
    y += height;
  };
  const isTrackShown = (track: Track, type: TrackType) =>
    !options.hidden.has(trackKey(track, type)) &&
    matchesLane({ ...track, lane: `${track.allocator} ${type}` }, words);
  const tracks = options.tracks
    .map((track) => {
      const tensors = isTrackShown(track, "tensors") ? options.tensors(track) : null;
      return { track, hasCurve: !track.estimated && isTrackShown(track, "memory"), tensors };
    })
    .filter(({ hasCurve, tensors }) => hasCurve || tensors);
  const highest = options.tracks.reduce((most, track) => Math.max(most, track.peak), 0);
  const addTrack = ({ track, hasCurve, tensors }: (typeof tracks)[number], context: string) => {
    const height = track.peak < LOW_MEMORY_SHARE * highest ? LOW_MEMORY_HEIGHT : MEMORY_HEIGHT;
    if (hasCurve) {
      items.push({ type: "memory", key: trackKey(track, "memory"), track, context, y, height });
      y += height;
    }
    if (!tensors) return;
    const own = { key: trackKey(track, "tensors"), track, context, y, tensors };
    items.push({ type: "tensors", ...own, height: Math.max(tensors.height, MEMORY_HEIGHT) });
    y += Math.max(tensors.height, MEMORY_HEIGHT);
  };
  const addGroup = (group: Group, level: 0 | 1, around: Clock | null) => {
    if (options.hidden.has(group.key)) return;
    const lanes = lanesOf(group, options.hidden).filter((lane) => isShown(lane) && !pins.has(laneKey(lane)));
    const own = tracks.filter(({ track }) =>
      [group, ...group.groups].some(({ key }) => key === groupKey(track)),
    );
    if (lanes.length + own.length === 0) return;
    const collapsed = options.collapsed.has(group.key);
    const { key, label, path } = group;
    const events = lanes.reduce((sum, lane) => sum + countEvents(rows[lane.id]), 0);
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
      clock: common === around ? null : common,
    });
    y += GROUP_HEIGHT;
    if (collapsed) return;
    for (const inner of group.groups) addGroup(inner, 1, common);
    const direct = new Set(group.lanes);
    for (const lane of lanes) if (direct.has(lane)) addLane(lane, group.context(lane), false);
    for (const each of own) if (groupKey(each.track) === group.key) addTrack(each, "");
  };
  const byKey = new Map(drawn.lanes.map((lane) => [laneKey(lane), lane]));
  for (const key of pins) {
    const lane = byKey.get(key);
    if (lane !== undefined && isShown(lane)) addLane(lane, locationLabel(lane.task, lane.device), true);
  }
  if (options.groupBy === "none") {
    for (const lane of drawn.lanes) {
      if (isShown(lane) && !pins.has(laneKey(lane)))
        addLane(lane, locationLabel(lane.task, lane.device), false);
    }
  } else {
    for (const group of groupLanes(drawn.lanes, options.groupBy)) addGroup(group, 0, null);
  }
  for (const each of tracks) {
    const { task, device } = each.track;
    if (options.groupBy !== "device" || !device) addTrack(each, locationLabel(task, device));
  }
  return { items, height: y };
}

const groupKey = ({ task, device }: Track) => `${task}\0${device}`;
type TrackType = "memory" | "tensors";
const trackKey = (track: Track, type: TrackType) => `${type}\0${groupKey(track)}\0${track.allocator}`;

/** What is at `y` (CSS px from the top), and which of a lane's rows; null above, below and when there is nothing. */
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
  const row = Math.floor((y - item.y - LANE_PAD_ABOVE) / ROW_HEIGHT);
  return { item, row: Math.min(Math.max(row, 0), item.rows.length - 1) };
}

/** The top of a row of a lane (CSS px from the top). */
export function rowTop(item: LaneItem, row: number): number {
  return item.y + LANE_PAD_ABOVE + row * ROW_HEIGHT;
}

function lanesOf(group: Group, hidden: ReadonlySet<string>): Lane[] {
  const inner = group.groups.filter((child) => !hidden.has(child.key));
  return [...group.lanes, ...inner.flatMap((child) => lanesOf(child, hidden))];
}

function countEvents(rows: readonly Row[]): number {
  const inRow = (row: Row) => row.merged?.count.reduce((sum, count) => sum + count, 0) ?? row.ids.length;
  return rows.reduce((sum, row) => sum + inRow(row), 0);
}
