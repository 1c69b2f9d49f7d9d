/** Figures of a selected range for the tabs below a timeline: where the browser has the events, its own; else the kernel's. */

import type { RangeFigures, RangeRow } from "../host/channel";
import { activityIn, kindIn, kindOf, moves } from "../model/lanes/event_text";
import { deviceLocation } from "../model/lanes/labels";
import { eventsIn, type RangeSelection, rangeStatistics } from "../model/search/range_statistics";
import type { DetailsView } from "../model/wire/details";
import type { Store } from "./store";

export function rangeFigures(store: Store, range: RangeSelection): RangeFigures {
  const { run, remote, details } = store;
  let events: ArrayLike<number> | null = null;
  return {
    length: range.end - range.start,
    get events() {
      if (!remote) events ??= eventsIn(run, range);
      return events;
    },
    async rows(by) {
      if (by === "route") return this.events && details && routes(store, details, Array.from(this.events));
      const found = remote ? await remote.statistics(range, by) : rangeStatistics(run, range, by);
      if (!found) return null;
      // The order of the table of the whole trace.
      const rows = [...found.rows].sort((a, b) => (b.self ?? -1) - (a.self ?? -1) || b.total - a.total);
      return rows.map(({ label, category, longest, count, total, self, mean, p50, p99 }) => ({
        cells: {
          [by]: label,
          kind: kindIn(run.categories[category]),
          self_ns: self,
          total_ns: total,
          count,
          mean_ns: mean,
          p50_ns: p50,
          p99_ns: p99,
        },
        event: longest,
        colour: activityIn(run.categories[category]),
      }));
    },
  };
}

type Span = [start: number, end: number];

/** As transfer_matrix in analysis/communication: one row for what moved between two devices, the busiest first. */
function routes({ run }: Store, details: DetailsView, events: readonly number[]): RangeRow[] {
  const between = new Map<string, number[]>();
  for (const id of events) {
    if (!moves(run, id)) continue;
    const key = [kindOf(run, id), details.source(id), details.destination(id)].join("\0");
    between.set(key, [...(between.get(key) ?? []), id]);
  }
  const rows = [...between.values()].map((ids) => {
    const sizes = ids.map((id) => details.bytes(id));
    const waited = (id: number) => run.wait?.[id] ?? 0;
    // A tensor waits after its start, a copy before it.
    const waits = ids.map((id): Span => {
      const start = run.start[id];
      return kindOf(run, id) === "transfer"
        ? [start, start + waited(id)]
        : [details.scheduled(id) ?? start, start];
    });
    const moving = ids.map((id): Span => {
      const start = run.start[id] + (run.turn?.[id] ?? waited(id));
      return [start, start + run.duration[id] - waited(id)];
    });
    const bytes = sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
    const busy = covered(moving);
    const name = (device: string | null) => (device ? deviceLocation(device) : "");
    return {
      cells: {
        source: name(details.source(ids[0])),
        destination: name(details.destination(ids[0])),
        bytes: sizes.every((size) => size === null) ? null : bytes,
        count: ids.length,
        busy_ns: busy,
        wait_ns: covered(waits),
        mean_wait_ns: waits.reduce((sum, [start, end]) => sum + end - start, 0) / ids.length,
        bandwidth: busy && !sizes.includes(null) ? (1e9 * bytes) / busy : null,
      },
      event: ids.reduce((most, id) => ((details.bytes(id) ?? 0) > (details.bytes(most) ?? 0) ? id : most)),
      colour: "",
    };
  });
  return rows.sort((a, b) => b.cells.busy_ns - a.cells.busy_ns);
}

/** The time that spans cover together. */
function covered(spans: readonly Span[]): number {
  let sum = 0;
  let reached = Number.NEGATIVE_INFINITY;
  for (const [start, end] of [...spans].sort((a, b) => a[0] - b[0])) {
    sum += Math.max(end - Math.max(start, reached), 0);
    reached = Math.max(reached, end);
  }
  return sum;
}
