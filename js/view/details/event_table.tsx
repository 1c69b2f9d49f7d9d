/**
 * Events as a table: the longest or the best first, sorted by any column; a line above it has their common values.
 */

import { useEffect, useState } from "preact/hooks";
import { isolated } from "../../model/format/bidi";
import { markdownText } from "../../model/format/table_text";
import { formatCount, formatDuration } from "../../model/format/units";
import { commonLocation, laneLabel, laneName, NO_NAME } from "../../model/lanes/labels";
import type { Found } from "../../model/search/search";
import type { Store } from "../../state/store";
import { CopyTable } from "../../ui/copy_table";
import { Facts } from "../../ui/facts";
import { MiddleCut } from "../../ui/middle_cut";
import { type Order, sortRows } from "../../ui/sort";
import { Table } from "../../ui/table";

type Column = "name" | "op" | "lane" | "duration";

const TITLES: Record<Column, string> = { name: "Name", op: "Op", lane: "Lane", duration: "Duration" };
const CSV_HEADS = ["name", "op", "lane", "duration_ns"];

interface EventTableProps {
  store: Store;
  title: string;
  events: readonly Found[];
  /** The total number; `events` may hold only the longest. */
  count: number;
  /** Sum of the durations of all, and how long at least one of them runs (ns). */
  total: number;
  busy: number | null;
  /** Called with the rows when the user sorts them. Only search results have it: they come best first. */
  keep?: (sorted: readonly Found[]) => void;
  visit: (event: number) => void;
}

export function EventTable({ store, title, events, count, total, busy, keep, visit }: EventTableProps) {
  const [order, setOrder] = useState<Order<Column> | null>(keep ? null : { column: "duration", up: false });
  const lanes = [...new Set(events.map(({ lane }) => lane))].map((lane) => store.drawn.lanes[lane]);
  const where = commonLocation(lanes);
  const ops = new Set(events.map(({ op }) => op));
  const [op] = ops;
  // With only the longest events here, what all have in common is not known.
  const isAll = events.length === count;
  const hasLanes = lanes.length > 1 || !isAll;
  const isOneDevice = isAll && new Set(lanes.map(({ task, device }) => `${task} ${device}`)).size === 1;
  const laneText = ({ lane }: Found) => {
    const found = store.drawn.lanes[lane];
    return isolated(isOneDevice ? laneName(found.lane) : laneLabel(found));
  };
  const columns: Column[] = hasLanes ? ["name", "lane", "duration"] : ["name", "duration"];
  const texts: Record<Column, (event: Found) => string> = {
    name: ({ name, op }) => name || op,
    op: (event) => event.op,
    lane: laneText,
    duration: ({ duration }) => formatDuration(duration),
  };
  const sorted = order
    ? sortRows(events, order.up, (event) =>
        order.column === "duration" ? event.duration : texts[order.column](event),
      )
    : events;
  useEffect(() => {
    if (order) keep?.(sorted);
  }, [order]);
  const data = () =>
    [
      CSV_HEADS,
      sorted.map(({ name, op, lane, duration }) => [name, op, laneLabel(store.drawn.lanes[lane]), duration]),
    ] as const;
  const all: Column[] = ["name", "op", "lane", "duration"];
  const markdown = () =>
    markdownText(
      all.map((column) => TITLES[column]),
      sorted.map((event) => all.map((column) => texts[column](event))),
      (column) => all[column] !== "duration",
    );
  return (
    <>
      <Facts
        facts={[
          [
            "Busy",
            busy === null ? "too many events" : formatDuration(busy),
            `Time in which at least one of these events ran: an op and its kernels count once. All durations add up to ${formatDuration(total)}.`,
          ],
          ["Mean", formatDuration(total / count)],
          isAll && ops.size === 1 && op !== "" && ["Op", isolated(op)],
          isAll && where !== "" && ["On", isolated(where)],
        ]}
      />
      <section class="events">
        <header>
          <h3>{isAll ? "Events" : `${keep ? "Best" : "Longest"} ${formatCount(events.length)}`}</h3>
          <CopyTable name={title} {...{ data, markdown }} />
        </header>
        <Table
          heads={columns.map((column) => ({
            column,
            title: TITLES[column],
            isText: column !== "duration",
            class: column,
          }))}
          {...{ order, setOrder }}
          table={{ "aria-label": title }}
        >
          <tbody>
            {sorted.map((event) => (
              <tr key={event.event}>
                <td>
                  <button
                    type="button"
                    title={isolated(event.name || event.op)}
                    onClick={() => visit(event.event)}
                  >
                    <MiddleCut text={event.name || event.op || NO_NAME} />
                  </button>
                </td>
                {hasLanes && (
                  <td class="lane" title={laneText(event)}>
                    {laneText(event)}
                  </td>
                )}
                <td>{formatDuration(event.duration)}</td>
              </tr>
            ))}
          </tbody>
        </Table>
      </section>
    </>
  );
}
