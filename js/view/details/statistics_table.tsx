/** Sums by op or by name, sortable by every column. */

import { useState } from "preact/hooks";
import type { Actions } from "../../input/actions";
import { isolated, withoutControls } from "../../model/format/bidi";
import { formatCount, formatDuration } from "../../model/format/units";
import { shortName } from "../../model/lanes/event_text";
import { NO_NAME, UNKNOWN_OP } from "../../model/lanes/labels";
import { entryOfEvent } from "../../model/lod/merged";
import { categoryColour, categoryLabel } from "../../model/paint/palette";
import type { StatisticsRow } from "../../model/search/range_statistics";
import type { Store } from "../../state/store";
import { type Order, sortRows } from "../../ui/sort";
import { Table } from "../../ui/table";

type StatisticsColumn = "label" | "count" | "busy" | "mean" | "min" | "max";

const TITLES: Record<StatisticsColumn, string> = {
  label: "Op",
  count: "Count",
  busy: "Busy",
  mean: "Mean",
  min: "Min",
  max: "Max",
};
const BUSY = "Time in which at least one of these events ran; of several at once it counts once";
/** The text without rows. */
export const NOTHING = "Nothing ran here.";
const SHORT: StatisticsColumn[] = ["label", "count", "busy"];
const FULL: StatisticsColumn[] = ["label", "count", "busy", "mean", "min", "max"];

export function ByOpOrName({ store }: { store: Store }) {
  return (
    <div class="segmented" role="group" aria-label="Sum up by">
      {(["op", "name"] as const).map((by) => (
        <button
          key={by}
          type="button"
          aria-pressed={store.statisticsBy === by}
          onClick={() => store.setPanel({ statisticsBy: by })}
        >
          By {by}
        </button>
      ))}
    </div>
  );
}

interface TableProps {
  store: Store;
  actions: Actions;
  /** Null while they are asked for. */
  rows: readonly StatisticsRow[] | null;
  most: number;
  /** The text if there are no rows. */
  nothing?: string;
  /** All columns, with every name on a line of its own above its figures. */
  isFull?: boolean;
}

export function StatisticsTable({
  store,
  actions,
  rows,
  most,
  nothing = NOTHING,
  isFull = false,
}: TableProps) {
  const [order, setOrder] = useState<Order<StatisticsColumn>>({ column: "busy", up: false });
  if (!rows) return null;
  if (rows.length === 0) return <p class="unlinked">{nothing}</p>;
  const sorted = sortRows(rows, order.up, (row) => row[order.column]);
  const columns = isFull ? FULL : SHORT;
  const heads = columns.map((column) => ({
    column,
    title: column === "label" && store.statisticsBy === "name" ? "Name" : TITLES[column],
    isText: column === "label",
    ...(column === "busy" && { hint: BUSY }),
  }));
  const alike = repeated(rows.map((row) => row.label));
  const figure = (row: StatisticsRow, column: StatisticsColumn) =>
    column === "count" ? formatCount(row.count) : formatDuration(row[column as "busy"]);
  return (
    <>
      <Table
        {...{ heads, order, setOrder }}
        isFirstAbove={isFull}
        table={{ "aria-label": "Time by op or name", ...(isFull && { class: "full" }) }}
      >
        {sorted.slice(0, most).map((row) => {
          const name = <RowName store={store} actions={actions} row={row} isAlike={alike.has(row.label)} />;
          const figures = columns.slice(1).map((column) => (
            <td
              key={column}
              title={column === "busy" ? `Sum of durations: ${formatDuration(row.total)}` : undefined}
            >
              {figure(row, column)}
            </td>
          ));
          return (
            <tbody key={`${row.category} ${row.label}`}>
              {isFull ? (
                <>
                  <tr>
                    <th scope="rowgroup" colSpan={columns.length - 1}>
                      {name}
                    </th>
                  </tr>
                  <tr>{figures}</tr>
                </>
              ) : (
                <tr>
                  <td>{name}</td>
                  {figures}
                </tr>
              )}
            </tbody>
          );
        })}
      </Table>
      {rows.length > most && <p class="unlinked">{formatCount(rows.length - most)} more</p>}
    </>
  );
}

/** Labels that occur more than once. */
function repeated(labels: readonly string[]): Set<string> {
  const seen = new Set<string>();
  return new Set(labels.filter((label) => seen.size === seen.add(label).size));
}

interface NameProps {
  store: Store;
  actions: Actions;
  row: StatisticsRow;
  /** Whether another row has this label: then words distinguish an op from its kernel. */
  isAlike: boolean;
}

function RowName({ store, actions, row, isAlike }: NameProps) {
  const category = store.drawn.categories[row.category];
  const { paints, theme } = store.painting;
  const longest = entryOfEvent(store.drawn, row.longest);
  // With colours by op type, an op has the same colour here as in the lanes.
  const isByOp = store.host.get("color_by") === "op" && longest !== null;
  const colour = isByOp ? paints.css[paints.colour[longest]] : categoryColour(category, theme);
  return (
    <>
      <i class="swatch" title={categoryLabel(category)} aria-hidden="true" style={{ background: colour }} />
      <button
        type="button"
        title={`${isolated(row.label)}: ${categoryLabel(category)}. Show the longest`}
        onClick={() => actions.visitEvent(row.longest)}
      >
        {withoutControls(shortName(row.label)) || (store.statisticsBy === "op" ? UNKNOWN_OP : NO_NAME)}
        {isAlike && <small> {categoryLabel(category)}</small>}
      </button>
    </>
  );
}
