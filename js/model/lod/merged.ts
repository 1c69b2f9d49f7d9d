/** A trace of which the browser holds what the pixels need: entries that each stand for one event or several. */
import type { Drawn, Merged, Row, Selection } from "../types";

/** Events of the trace, however many the browser holds. */
export function eventCount(drawn: Drawn): number {
  return drawn.merged ? drawn.merged.total : drawn.count;
}

/** The event id of an entry; without merging they are the same. */
export function eventAt(drawn: Drawn, entry: number): number {
  return drawn.merged ? drawn.merged.events[entry] : entry;
}

/** The entry that says all about an event; null when none here does. */
export function entryOfEvent(drawn: Drawn, event: number): number | null {
  if (!drawn.merged) return event < drawn.count ? event : null;
  // From the end, as what came last is on the screen.
  const entry = drawn.merged.events.lastIndexOf(event);
  return entry < 0 ? null : entry;
}

/** A selection with its events by place instead of id; those that are not here are left out. */
export function byEntry(drawn: Drawn, selection: Selection | null): Selection | null {
  if (!drawn.merged || !selection || !("events" in selection)) return selection;
  const places = selection.events.map((event) => entryOfEvent(drawn, event));
  const events = places.filter((entry) => entry !== null);
  return events.length ? { events } : null;
}

/** A selection with its events by id instead of place. */
export function byEventId(drawn: Drawn, selection: Selection | null): Selection | null {
  if (!drawn.merged || !selection || !("events" in selection)) return selection;
  return { events: selection.events.map((entry) => eventAt(drawn, entry)) };
}

/** Whether the entry is in a row, rather than replaced by finer ones. */
function isReplaced({ part, start, end }: Merged, entry: number): boolean {
  return part !== null && end[entry] > part.start && start[entry] < part.end;
}

/** The rows of each lane; `step` is the place of the step shown, null for all. */
export function mergedRows(drawn: Drawn, merged: Merged, step: number | null): Row[][] {
  const firstSlot = new Uint32Array(merged.rows.length + 1);
  for (const [lane, rows] of merged.rows.entries()) firstSlot[lane + 1] = firstSlot[lane] + rows;
  const slots = firstSlot[merged.rows.length];
  const places = new Uint32Array(slots + 1);
  const chosen = new Uint32Array(merged.fine);
  const isShown = (entry: number) => step === null || drawn.step === null || drawn.step[entry] === step;
  let length = 0;
  const take = (entry: number) => {
    if (!isShown(entry)) return;
    chosen[length++] = entry;
    places[firstSlot[drawn.lane[entry]] + merged.row[entry] + 1]++;
  };
  // In each row: the outline before the part, the part, the outline after it.
  const { outline, fine, part } = merged;
  for (let entry = 0; entry < outline; entry++)
    if (!isReplaced(merged, entry) && !(part && merged.start[entry] >= part.end)) take(entry);
  if (part) {
    for (let entry = outline; entry < fine; entry++) take(entry);
    for (let entry = 0; entry < outline; entry++)
      if (!isReplaced(merged, entry) && merged.start[entry] >= part.end) take(entry);
  }
  for (let slot = 0; slot < slots; slot++) places[slot + 1] += places[slot];
  const next = places.slice();
  const ids = new Uint32Array(length);
  for (let i = 0; i < length; i++) {
    const entry = chosen[i];
    ids[next[firstSlot[drawn.lane[entry]] + merged.row[entry]]++] = entry;
  }
  const pick = <T extends Float64Array | Uint32Array>(column: T): T => {
    const out = new (column.constructor as new (length: number) => T)(length);
    for (let i = 0; i < length; i++) out[i] = column[ids[i]];
    return out;
  };
  const columns = {
    start: pick(merged.start),
    end: pick(merged.end),
    busy: pick(merged.busy),
    peak: pick(Float64Array.from(drawn.duration.subarray(0, merged.fine))),
    count: pick(merged.count),
  };
  return merged.rows.map((rows, lane) => {
    const [from, to] = [places[firstSlot[lane]], places[firstSlot[lane + 1]]];
    // A lane without any event of the step is not shown; another keeps all its rows, so that none jumps.
    if (from === to) return [];
    return Array.from({ length: rows }, (_, index): Row => {
      const [first, last] = [places[firstSlot[lane] + index], places[firstSlot[lane] + index + 1]];
      return {
        lane,
        index,
        ids: ids.subarray(first, last),
        start: columns.start.subarray(first, last),
        end: columns.end.subarray(first, last),
        merged: {
          busy: columns.busy.subarray(first, last),
          peak: columns.peak.subarray(first, last),
          count: columns.count.subarray(first, last),
        },
      };
    });
  });
}
