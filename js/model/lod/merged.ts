/** A trace reduced to the detail that the pixels need: each entry stands for one event or several. */
import { shownWith } from "../lanes/shown_with";
import type { Drawn, Merged, Row, Selection } from "../types";

/** Events of the trace, however many the browser holds. */
export function eventCount(drawn: Drawn): number {
  return drawn.merged ? drawn.merged.total : drawn.count;
}

/** The event id of an entry; without merging they are the same. */
export function eventAt(drawn: Drawn, entry: number): number {
  return drawn.merged ? drawn.merged.events[entry] : entry;
}

/** The entry with all of an event; null when none here does. */
export function entryOfEvent(drawn: Drawn, event: number): number | null {
  if (!drawn.merged) return event < drawn.count ? event : null;
  // From the end, because the latest data is on the screen.
  const entry = drawn.merged.events.lastIndexOf(event);
  return entry < 0 ? null : entry;
}

/** A selection with its events by position instead of id, without events that are not loaded. */
export function byEntry(drawn: Drawn, selection: Selection | null): Selection | null {
  if (!drawn.merged || !selection || !("events" in selection)) return selection;
  const places = selection.events.map((event) => entryOfEvent(drawn, event));
  const events = places.filter((entry) => entry !== null);
  return events.length ? { events } : null;
}

/** A selection with its events by id instead of index. */
export function byEventId(drawn: Drawn, selection: Selection | null): Selection | null {
  if (!drawn.merged || !selection || !("events" in selection)) return selection;
  return { events: selection.events.map((entry) => eventAt(drawn, entry)) };
}

/** Whether there are finer entries in place of the entry, rather than it in a row. */
function isReplaced({ lane }: Drawn, { part, start, end }: Merged, entry: number): boolean {
  if (part === null || end[entry] <= part.start || start[entry] >= part.end) return false;
  return part.lanes === null || part.lanes.has(lane[entry]);
}

/** The rows of each lane; `step` is the index of the step shown, null for all. */
export function mergedRows(drawn: Drawn, merged: Merged, step: number | null): Row[][] {
  // Rows of all lanes have one number each, so that entries can be sorted by it in one pass.
  const firstRow = new Uint32Array(merged.rows.length + 1);
  for (const [lane, rows] of merged.rows.entries()) firstRow[lane + 1] = firstRow[lane] + rows;
  const rowOf = (entry: number) => firstRow[drawn.lane[entry]] + merged.row[entry];
  const { ids, ends } = byRow(shownEntries(drawn, merged, step), rowOf, firstRow[merged.rows.length]);
  const pick = <T extends Float64Array | Uint32Array>(column: T): T => {
    const out = new (column.constructor as new (length: number) => T)(ids.length);
    for (let i = 0; i < ids.length; i++) out[i] = column[ids[i]];
    return out;
  };
  const [start, end, busy, count] = [
    pick(merged.start),
    pick(merged.end),
    pick(merged.busy),
    pick(merged.count),
  ] as const;
  const peak = pick(Float64Array.from(drawn.duration.subarray(0, merged.fine)));
  return merged.rows.map((rows, lane) => {
    // A lane without any event of the step is not shown; another keeps all its rows, so that none jumps.
    if (ends[firstRow[lane]] === ends[firstRow[lane + 1]])
      return drawn.rest === "lanes"
        ? Array.from({ length: rows }, (_, index) => ({ lane, index, ...NOTHING }))
        : [];
    return Array.from({ length: rows }, (_, index): Row => {
      const [from, to] = [ends[firstRow[lane] + index], ends[firstRow[lane] + index + 1]];
      return {
        lane,
        index,
        ids: ids.subarray(from, to),
        start: start.subarray(from, to),
        end: end.subarray(from, to),
        merged: {
          busy: busy.subarray(from, to),
          peak: peak.subarray(from, to),
          count: count.subarray(from, to),
        },
      };
    });
  });
}

/** A row without loaded entries. */
const NOTHING: Pick<Row, "ids" | "start" | "end" | "merged"> = {
  ids: new Uint32Array(0),
  start: new Float64Array(0),
  end: new Float64Array(0),
  merged: { busy: new Float64Array(0), peak: new Float64Array(0), count: new Uint32Array(0) },
};

/** The entries that are in rows; in each row the outline before the part, the part, the outline after it. */
function shownEntries(drawn: Drawn, merged: Merged, step: number | null): Uint32Array {
  const { outline, fine, part } = merged;
  const entries = new Uint32Array(fine);
  const isShown = shownWith(drawn, step);
  let length = 0;
  const add = (entry: number) => {
    if (isShown(entry)) entries[length++] = entry;
  };
  for (let entry = 0; entry < outline; entry++)
    if (!isReplaced(drawn, merged, entry) && !(part && merged.start[entry] >= part.end)) add(entry);
  if (part) {
    for (let entry = outline; entry < fine; entry++) add(entry);
    for (let entry = 0; entry < outline; entry++) if (merged.start[entry] >= part.end) add(entry);
  }
  return entries.subarray(0, length);
}

/** The entries sorted by row, otherwise in their order, and where each row's begin and the last one's end. */
function byRow(
  entries: Uint32Array,
  rowOf: (entry: number) => number,
  rows: number,
): { ids: Uint32Array; ends: Uint32Array } {
  const ends = new Uint32Array(rows + 1);
  for (const entry of entries) ends[rowOf(entry) + 1]++;
  for (let row = 0; row < rows; row++) ends[row + 1] += ends[row];
  const next = ends.slice();
  const ids = new Uint32Array(entries.length);
  for (const entry of entries) ids[next[rowOf(entry)]++] = entry;
  return { ids, ends };
}
