/** Lanes by the thousand: their groups begin folded, and open where a filter has left only a few lanes. */

import type { Host, Options } from "../host/host";
import type { Arrangement, GroupItem } from "../model/lanes/layout";
import { OWN_TRACKS } from "../model/lanes/tracks";
import type { Drawn } from "../model/types";
import type { LaneChoices } from "./lane_choices";

/** More lanes than these, in at least so many groups, begin folded; of a dataset all do, in several groups. */
const MANY_LANES = 256;
const FEW_GROUPS = 4;
/** A filter that leaves no more lanes than this opens their groups. */
const MOST_OPENED = 60;

export class ManyLanes {
  /** The groupings whose groups have begun folded. */
  readonly #begun = new Set<Options["group_by"]>();

  constructor(
    readonly host: Host,
    readonly lanes: LaneChoices,
  ) {}

  /** Fold all groups of many lanes, once for each grouping; whether that changed anything. */
  begin({ items }: Arrangement, { lanes, rest }: Drawn): boolean {
    const by = this.host.get("group_by");
    const isSparse = rest === "lanes";
    if (this.#begun.has(by) || (lanes.length <= MANY_LANES && !isSparse)) return false;
    const ofLanes = items.filter((item) => item.type === "group" && item.key !== OWN_TRACKS) as GroupItem[];
    const groups = ofLanes.filter(({ level }) => level === 0).length;
    if (groups < (isSparse ? 2 : FEW_GROUPS)) return false;
    this.#begun.add(by);
    for (const { key } of ofLanes) this.lanes.collapsed.add(key);
    return true;
  }

  /** Open groups that hide the few remaining lanes of a filter; close groups opened for the previous filter. */
  open(arrange: () => Arrangement): void {
    const { lanes, host } = this;
    lanes.openFound([]);
    if (this.#begun.size === 0 || !host.get("lane_filter").trim()) return;
    const outer = closedGroups(arrange());
    if (outer.reduce((sum, group) => sum + group.lanes.length, 0) > MOST_OPENED) return;
    lanes.openFound(outer.map(({ key }) => key));
    // Tasks that are open show their devices, which may be closed as well.
    lanes.openFound([...outer, ...closedGroups(arrange())].map(({ key }) => key));
  }
}

function closedGroups({ items }: Arrangement): GroupItem[] {
  return items.filter((item): item is GroupItem => item.type === "group" && item.collapsed);
}

interface Seen {
  arrangement: Arrangement;
  scroll: number;
  height: number;
}

/** The lanes that the picture shows something of, and those up to `beyond` CSS px above and below it. */
export function lanesSeen({ arrangement, scroll, height }: Seen, beyond: number): number[] {
  const lanes = new Set<number>();
  for (const item of arrangement.items) {
    if (item.y + item.height <= scroll - beyond || item.y >= scroll + height + beyond) continue;
    if (item.type === "lane") lanes.add(item.lane);
    else if (item.type === "group" && item.collapsed) for (const lane of item.preview) lanes.add(lane);
  }
  return [...lanes];
}
