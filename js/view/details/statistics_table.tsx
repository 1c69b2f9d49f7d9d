/** Sums by op, name, lane, layer or line, sortable by every column. */

import { useState } from "preact/hooks";
import type { Actions } from "../../input/actions";
import { isolated, withoutControls } from "../../model/format/bidi";
import { markdownText } from "../../model/format/table_text";
import { formatCount, formatDuration } from "../../model/format/units";
import { activityIn, kindIn, kindOf, scopesToTell, shortName } from "../../model/lanes/event_text";
import { NO_NAME, NO_OP } from "../../model/lanes/labels";
import { entryOfEvent } from "../../model/lod/merged";
import { activityColour, activityLabel } from "../../model/paint/palette";
import { type By, binOf, labelOf, type StatisticsRow } from "../../model/search/range_statistics";
import type { Store } from "../../state/store";
import { CopyTable } from "../../ui/copy_table";
import { type Order, sortRows } from "../../ui/sort";
import { type ColumnHead, Table } from "../../ui/table";
import { shortName as shortFile } from "../code/line_text";
import { originOf } from "./range_totals";

type StatisticsColumn = "label" | "count" | "busy" | "total" | "self" | "mean" | "p50" | "p99" | "max";

/** The text without rows. */
const HINTS: Partial<Record<StatisticsColumn, string>> = {
  busy: "Time in which at least one of these events ran: an op and its kernels count once.",
  self: "Without nested events, in the range",
};
const SHORT: StatisticsColumn[] = ["label", "count", "busy"];
const FULL: StatisticsColumn[] = ["label", "count", "total", "self", "mean", "p50", "p99", "max"];

/** Such as "Mean" and "p99". */
function titleOf(column: StatisticsColumn, by: By): string {
  const title = column === "label" ? by : column;
  return /\d/.test(title) ? title : title[0].toUpperCase() + title.slice(1);
}

interface TableProps {
  store: Store;
  actions: Actions;
  /** Null while they are asked for. */
  rows: readonly StatisticsRow[] | null;
  most: number;
  by?: By;
  /** Set for all columns, with a button that copies them. */
  isFull?: boolean;
}

export function StatisticsTable({ store, actions, rows, most, by = "op", isFull = false }: TableProps) {
  const [order, setOrder] = useState<Order<StatisticsColumn>>({
    column: isFull ? "total" : "busy",
    up: false,
  });
  if (!rows) return null;
  if (rows.length === 0) return <p class="unlinked">Nothing ran.</p>;
  const sorted = sortRows(rows, order.up, (row) => row[order.column]).slice(0, most);
  const columns = isFull ? FULL : SHORT;
  const heads: ColumnHead<StatisticsColumn>[] = columns.map((column) => ({
    column,
    title: titleOf(column, by),
    isText: column === "label",
    hint: HINTS[column],
  }));
  const alike = repeated(rows.map(({ label }) => label));
  const scopes = scopesToTell(sorted.map(({ label }) => label));
  const figure = (row: StatisticsRow, column: StatisticsColumn) =>
    column === "count" ? formatCount(row.count) : formatDuration(row[column as "self"] ?? Number.NaN);
  const kind = ({ category }: StatisticsRow) => kindIn(store.drawn.categories[category]);
  const marked = isFull && store.selected !== null ? store.selected : null;
  return (
    <>
      {isFull && (
        <CopyTable
          name="Selected range"
          data={() => [
            [by, "kind", ...FULL.slice(1).map((each) => (each === "count" ? each : `${each}_ns`))],
            sorted.map((row) => [row.label, kind(row), ...FULL.slice(1).map((each) => row[each])]),
          ]}
          markdown={() =>
            markdownText(
              FULL.map((column) => titleOf(column, by)),
              sorted.map((row) => [row.label, ...FULL.slice(1).map((each) => figure(row, each))]),
              (column) => column === 0,
            )
          }
        />
      )}
      <Table
        heads={isFull ? [...heads, { column: "bins", title: "Durations", isFixed: true }] : heads}
        {...{ order, setOrder }}
        table={{ "aria-label": `Time by ${by}` }}
      >
        <tbody>
          {sorted.map((row) => (
            <tr key={`${kind(row)} ${row.label}`}>
              <td>
                <RowName
                  {...{ store, actions, row, by, scopes }}
                  apart={alike.has(row.label) ? kind(row) : ""}
                />
              </td>
              {columns.slice(1).map((column) => (
                <td key={column}>{figure(row, column)}</td>
              ))}
              {isFull && (
                <td>
                  <Durations row={row} marked={durationIn(store, row, by, marked)} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </Table>
      {rows.length > most && <p class="unlinked">{formatCount(rows.length - most)} more</p>}
    </>
  );
}

/** The duration of an event if it belongs to a row; else null. */
function durationIn(store: Store, row: StatisticsRow, by: By, id: number | null): number | null {
  const { drawn } = store;
  if (id === null || kindOf(drawn, id) !== kindIn(drawn.categories[row.category])) return null;
  return labelOf(drawn, id, by, (...of) => originOf(store, ...of)) === row.label ? drawn.duration[id] : null;
}

/** A histogram of a row's durations, with the bar of the selected event in another colour. */
function Durations({ row, marked }: { row: StatisticsRow; marked: number | null }) {
  const { bins, min, max } = row;
  const most = Math.max(...bins);
  const at = marked === null ? -1 : binOf(row, marked);
  const bar = (index: number) => {
    // One event among thousands is still seen.
    const height = bins[index] && 1 + (11 * bins[index]) / most;
    return `M${index},12v-${height}h1v${height}z`;
  };
  return (
    <svg class="durations" viewBox={`0 0 ${bins.length} 12`} preserveAspectRatio="none" role="img">
      <title>
        {formatDuration(min)} to {formatDuration(max)}
        {marked !== null && `, selected ${formatDuration(marked)}`}
      </title>
      <path d={[...bins.keys()].map(bar).join("")} />
      {at >= 0 && <path class="marked" d={bar(at)} />}
    </svg>
  );
}

const NO_LABEL: Record<By, string> = {
  op: NO_OP,
  name: NO_NAME,
  lane: "",
  layer: "(no layer)",
  line: "(no line)",
};

/** Labels that occur more than once. */
function repeated(labels: readonly string[]): Set<string> {
  const seen = new Set<string>();
  return new Set(labels.filter((label) => seen.size === seen.add(label).size));
}

interface NameProps {
  store: Store;
  actions: Actions;
  row: StatisticsRow;
  by: By;
  /** How many scopes of a name are shown. */
  scopes: number;
  /** What distinguishes it from rows with the same label, such as an op from its kernel; else empty. */
  apart: string;
}

function RowName({ store, actions, row, by, scopes, apart }: NameProps) {
  const category = store.drawn.categories[row.category];
  const label = activityLabel(activityIn(category));
  const { paints, theme } = store.painting;
  const longest = entryOfEvent(store.drawn, row.longest);
  // With colours by op type, an op has the same colour here as in the lanes.
  const isByOp = store.host.get("color_by") === "op" && longest !== null;
  const colour = isByOp ? paints.css[paints.colour[longest]] : activityColour(activityIn(category), theme);
  return (
    <>
      <i class="swatch" title={label} aria-hidden="true" style={{ background: colour }} />
      <button
        type="button"
        title={`${isolated(row.label)}: ${kindIn(category)}. Show the longest`}
        onClick={() => actions.visitEvent(row.longest)}
      >
        {withoutControls(by === "line" ? shortFile(row.label) : shortName(row.label, scopes)) || NO_LABEL[by]}
        {apart && <small> {apart}</small>}
      </button>
    </>
  );
}
