/** Tables that follow the range selected in the timeline. */

import { useEffect, useState } from "preact/hooks";
import type { RangeFigures, RangeRow } from "../host/channel";
import { formatCount, formatDuration } from "../model/format/units";
import type { TableBlock } from "./blocks";

const MAX_ROWS = 200;
const PAUSE_MS = 150;

/** The table of the range, if one is selected and its figures are known. */
export function useRange(block: TableBlock, inRange: RangeFigures | null): TableBlock {
  const by = block.range;
  const [found, setFound] = useState<{ inRange: RangeFigures; rows: RangeRow[] } | null>(null);
  useEffect(() => {
    if (!inRange || !by || by === "events" || block.cannot_say) return;
    let isAwaited = true;
    // A range that is being dragged is summed up once it rests.
    const timer = setTimeout(async () => {
      const rows = await inRange.rows(by);
      if (isAwaited && rows) setFound({ inRange, rows });
    }, PAUSE_MS);
    return () => {
      isAwaited = false;
      clearTimeout(timer);
    };
  }, [inRange, block]);
  if (!inRange || !by) return block;
  if (by === "events") return ofEvents(block, inRange);
  return found?.inRange === inRange ? ofRows(block, inRange, found.rows) : block;
}

function ofRows(block: TableBlock, { length }: RangeFigures, found: RangeRow[]): TableBlock {
  const { histograms: _, ...rest } = block;
  const most = found.slice(0, MAX_ROWS);
  const known = (name: string) => most.some(({ cells }) => cells[name] !== undefined);
  const columns = block.columns.filter(({ name }) => !most.length || known(name));
  const index = (at: number | null) => (at === null ? null : columns.indexOf(block.columns[at]));
  const cut =
    most.length < found.length ? ` The first ${MAX_ROWS} of ${formatCount(found.length)} rows.` : "";
  return {
    ...rest,
    columns,
    rows: most.map(({ cells }) => columns.map(({ name }) => cells[name] ?? null)),
    zoom: most.map(({ event }) => ({ events: [event] })),
    light: index(block.light),
    bar: index(block.bar),
    colours: most.map(({ colour }) => colour),
    hints: [],
    note: `${coverText(length)}${cut}`,
    absent: [],
  };
}

/** The rows of the range's events, of the rows that are here. */
function ofEvents(block: TableBlock, { length, events }: RangeFigures): TableBlock {
  if (!events) return block;
  const among = new Set(Array.from(events));
  const kept = [...block.rows.keys()].filter((at) => block.zoom[at]?.events?.some((id) => among.has(id)));
  return {
    ...block,
    rows: kept.map((at) => block.rows[at]),
    zoom: kept.map((at) => block.zoom[at]),
    note: `${coverText(length)} ${block.note}`,
  };
}

const coverText = (length: number) =>
  `Covers the selected range of ${formatDuration(length)}; durations are whole.`;
