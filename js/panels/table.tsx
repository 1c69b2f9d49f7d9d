/** A block with a table of figures: each column with its definition, rows that are found in the timeline. */

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { LinkMessage, RangeFigures, RangeRow } from "../host/channel";
import { isolated } from "../model/format/bidi";
import { formatCell } from "../model/format/column_units";
import { markdownText } from "../model/format/table_text";
import { formatCount, formatDuration, formatNumber } from "../model/format/units";
import { scopesToTell, shortName } from "../model/lanes/event_text";
import { NO_NAME, NO_OP } from "../model/lanes/labels";
import { activityColour } from "../model/paint/palette";
import { NO_STEP } from "../model/types";
import type { Cell, ColumnHead, HistogramBins, TableBlock } from "../model/wire/schema";
import { useRows } from "../ui/arrow_keys";
import { BlockHead, CannotSay } from "../ui/block_head";
import { CopyTable } from "../ui/copy_table";
import { isShortcut } from "../ui/own_keys";
import { type Order, presentOrder, sortRows } from "../ui/sort";
import { Table } from "../ui/table";
import { useUniqueId } from "../ui/unique_id";

type Selected = Extract<LinkMessage, { kind: "select" }>;

const DURATIONS = { column: "durations", title: "Durations", class: "text", isFixed: true } as const;

interface TableProps {
  block: TableBlock;
  /** The number of the step shown alone in the timeline. */
  step: number | null;
  /** The range selected there. */
  inRange: RangeFigures | null;
  /** `keyOf` the selection there. */
  selected: string;
  publish: (message: LinkMessage) => void;
}

/** Identifies a selection: its events, or its time. */
export function keyOf({ events, start, end }: Pick<Selected, "events" | "start" | "end">): string {
  return `${events?.length ? events : [start, end]}`;
}

export function TableOf({ block: given, step, inRange, selected, publish }: TableProps) {
  const block = useRange(given, inRange);
  const { title, columns, rows } = block;
  const { shown, marked } = useMemo(() => rowsOfStep(block, step), [block, step]);
  const note = rowsNote(block, shown.length, step);
  const some = () => shown.map((index) => rows[index]);
  const data = () => [columns.map(({ name }) => name), some()] as const;
  const markdown = () =>
    markdownText(
      columns.map(({ label }) => label),
      some().map((row) => row.map((cell, at) => formatCell(cell, columns[at].unit))),
      (at) => isText(columns[at]),
    );
  return (
    <section class="block table" data-wide={isWide(columns) || block.bar !== null || undefined}>
      <BlockHead title={title} definition={block.definition}>
        {shown.length > 0 && <CopyTable name={title} {...{ data, markdown }} />}
      </BlockHead>
      {block.cannot_say ? (
        <CannotSay reason={block.cannot_say} />
      ) : shown.length === 0 ? (
        <p class="cannot-say">{rows.length > 0 && step !== null ? `None ${stepText(step)}.` : "None."}</p>
      ) : (
        <Rows {...{ block, shown, marked, selected, publish }} />
      )}
      {note && <p class="more">{note}</p>}
      {block.absent.length > 0 && <p class="more">{`Not available: ${block.absent.join(", ")}.`}</p>}
    </section>
  );
}

interface RowsProps extends Omit<TableProps, "step" | "inRange"> {
  /** Indexes of the rows to show, in their order. */
  shown: readonly number[];
  /** Index of the row of the step shown alone; -1 without one. */
  marked: number;
}

function Rows({ block, shown, marked, selected, publish }: RowsProps) {
  const { columns, rows, zoom, light, bar, colours, hints, histograms } = block;
  const hasBar = (index: number) => bar !== null && colours[index] !== "";
  const longestBar = Math.max(...rows.map((row, index) => (hasBar(index) ? Number(row[bar as number]) : 0)));
  const [chosen, setOrder] = useState<Order<number> | null>(null);
  const given = useMemo(
    () =>
      presentOrder(
        rows,
        columns.map((column, at) => ({ isText: isText(column), value: (row: readonly Cell[]) => row[at] })),
      ),
    [rows],
  );
  const order = chosen ?? given;
  const most = useMemo(() => columns.map((_, at) => largest(rows, at)), [rows]);
  const scopes = useMemo(() => columns.map((_, at) => scopesToTell(rows.map((row) => `${row[at]}`))), [rows]);
  const sorted = chosen && order ? sortRows(shown, order.up, (index) => rows[index][order.column]) : shown;
  const { stop, around, button } = useRows(sorted.filter((index) => zoom[index]));
  const show = (index: number) => {
    const where = zoom[index];
    if (where) publish({ kind: "select", ...where });
  };
  const nameOf = (index: number) => (light === null ? null : String(rows[index][light] ?? "") || null);
  return (
    <div class="rows" role="group" aria-label={block.title} {...around}>
      <Table
        heads={[
          ...columns.map((column, at) => ({
            column: at,
            title: column.label,
            definition: column.definition,
            isText: isText(column),
            ...(isText(column) && { class: "text" }),
          })),
          ...(histograms?.length ? [DURATIONS] : []),
        ]}
        {...{ order, setOrder }}
        table={{
          "aria-label": block.title,
          style: { "--names": columns.filter(({ unit }) => unit === "name").length },
          onPointerLeave: () => light !== null && publish({ kind: "hover", name: null }),
        }}
      >
        <tbody>
          {sorted.map((index) => (
            <tr
              key={index}
              aria-current={index === marked || (zoom[index] && keyOf(zoom[index]) === selected) || undefined}
              data-light={nameOf(index) ?? undefined}
              onPointerEnter={() => light !== null && publish({ kind: "hover", name: nameOf(index) })}
            >
              {columns.map((column, at) => {
                const cell = rows[index][at];
                const sizes = { most: most[at], scopes: scopes[at] };
                const text = <Figure {...{ cell, column, ...sizes }} isPlain={bar !== null} />;
                return (
                  <td key={column.name} class={isText(column) ? `text ${column.unit}` : column.unit}>
                    {at === 0 && zoom[index] ? (
                      <Hinted hint={hints[index]}>
                        {(hint) => (
                          <button
                            class="row"
                            {...button(index)}
                            title={titleOf(rows[index][at])}
                            aria-describedby={hint}
                            onClick={() => show(index)}
                          >
                            {text}
                          </button>
                        )}
                      </Hinted>
                    ) : at === 0 && hints[index] ? (
                      // A button, so that its explanation can get the focus.
                      <Hinted hint={hints[index]}>
                        {(hint) => (
                          <button type="button" class="hinted" aria-describedby={hint}>
                            {text}
                          </button>
                        )}
                      </Hinted>
                    ) : at === bar && hasBar(index) ? (
                      <Long part={Number(cell) / (longestBar || 1)} colour={colours[index]}>
                        {text}
                      </Long>
                    ) : (
                      text
                    )}
                  </td>
                );
              })}
              {histograms?.[index] && (
                <td>
                  <Histogram
                    bins={histograms[index]}
                    name={String(rows[index][0] ?? "")}
                    isStop={index === stop}
                    publish={publish}
                  />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </Table>
    </div>
  );
}

/** Contents described by the hint, and the hint itself, hidden, if there is one. */
function Hinted({
  hint,
  children,
}: {
  hint: string | undefined;
  children: (id?: string) => ComponentChildren;
}) {
  const id = useUniqueId();
  if (!hint) return <>{children()}</>;
  return (
    <>
      {children(id)}
      <span id={id} hidden>
        {hint}
      </span>
    </>
  );
}

/** A long name is cut in its cell. */
function titleOf(cell: Cell): string | undefined {
  return typeof cell === "string" && cell.length > 20 ? cell : undefined;
}

/** A figure next to a bar that is long enough to be compared with others. */
function Long(props: { part: number; colour: string | undefined; children: ComponentChildren }) {
  const { part, colour, children } = props;
  const background =
    colour && `light-dark(${activityColour(colour, "light")}, ${activityColour(colour, "dark")})`;
  return (
    <span class="long">
      <i aria-hidden="true">
        <b style={{ width: `${100 * part}%`, background }} />
      </i>
      <span>{children}</span>
    </span>
  );
}

interface FigureProps {
  cell: Cell;
  column: ColumnHead;
  /** The largest change of the column. */
  most: number;
  /** How many scopes of a name are shown. */
  scopes: number;
  /** Whether a share has no bar of its own, as another column has. */
  isPlain: boolean;
}

function Figure({ cell, column, most, scopes, isPlain }: FigureProps) {
  const text =
    formatCell(cell, column.unit) || (column.name === "op" ? NO_OP : column.unit === "name" ? NO_NAME : "");
  if (column.unit === "name")
    return (
      <span class="name" title={titleOf(cell)}>
        {shortName(text, scopes)}
      </span>
    );
  if (column.unit === "change" && typeof cell === "number")
    return <ChangeBar change={cell} most={most} text={text} />;
  if (isPlain || column.unit !== "share" || typeof cell !== "number") return <>{text}</>;
  return (
    <>
      <i class="bar" aria-hidden="true">
        <b style={{ width: `${Math.min(Math.max(cell, 0), 1) * 100}%` }} />
      </i>
      <span class="percent">{text}</span>
    </>
  );
}

const MAX_ROWS = 200;
const PAUSE_MS = 150;

/** The table of the range, if one is selected and its figures are known. */
function useRange(block: TableBlock, inRange: RangeFigures | null): TableBlock {
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

const MAX_COLUMNS = 7;
/** For columns with several texts, which take more room than figures. */
const MAX_COLUMNS_WITH_TEXTS = 5;
const MAX_TEXTS = 2;

const isText = ({ unit }: ColumnHead): boolean => unit === "text" || unit === "name";

/** Side by side with another one their last columns would be out of sight. */
export function isWide(columns: readonly ColumnHead[]): boolean {
  // Differences from a base can have intervals.
  if (columns.length > MAX_COLUMNS || columns.some(({ name }) => name === "against")) return true;
  return columns.length > MAX_COLUMNS_WITH_TEXTS && columns.filter(isText).length > MAX_TEXTS;
}

type Rows = Pick<TableBlock, "columns" | "rows" | "note">;

/**
 * Indexes of the rows to show while the timeline shows one step alone (its number), and of the one to mark,
 * -1 without one. A table with one row per step keeps them all, so that the step can be compared with the
 * others.
 */
export function rowsOfStep(
  { columns, rows }: Rows,
  step: number | null,
): { shown: number[]; marked: number } {
  const at = columns.findIndex(({ name }) => name === "step");
  const all = [...rows.keys()];
  if (at < 0 || step === null) return { shown: all, marked: -1 };
  const steps = rows.map((row) => row[at]);
  if (new Set(steps).size === rows.length) return { shown: all, marked: steps.indexOf(step) };
  return { shown: all.filter((index) => steps[index] === step), marked: -1 };
}

/** The text below a table that shows `shown` rows. */
export function rowsNote({ rows, note }: Rows, shown: number, step: number | null): string {
  if (shown === rows.length || step === null) return note;
  const part = `${formatCount(shown)} ${shown === 1 ? "is" : "are"} ${stepText(step)}.`;
  return note ? `${note} Of these, ${part}` : `Of ${formatCount(rows.length)} rows, ${part}`;
}

/** "in step 3", "outside steps". */
function stepText(step: number): string {
  return step === NO_STEP ? "outside steps" : `in step ${step}`;
}

/** A change too small to be seen still has a bar of this share. */
const LEAST_SHARE = 0.04;

/** The largest change of a column, in ns, in either direction; 0 if there are none. */
function largest(rows: readonly (readonly Cell[])[], column: number): number {
  return rows.reduce((most, row) => {
    const cell = row[column];
    return typeof cell === "number" ? Math.max(most, Math.abs(cell)) : most;
  }, 0);
}

/** A change with a bar from a zero line: slower to the right, faster to the left. */
function ChangeBar({ change, most, text }: { change: number; most: number; text: string }) {
  const share = change === 0 ? 0 : Math.max(Math.abs(change) / most, LEAST_SHARE);
  const name = change > 0 ? "slower" : "faster";
  const background = `light-dark(${activityColour(name, "light")}, ${activityColour(name, "dark")})`;
  return (
    <>
      <i class="change-bar" aria-hidden="true" data-change={change === 0 ? undefined : name}>
        <b style={{ width: `${50 * share}%`, [change > 0 ? "left" : "right"]: "50%", background }} />
      </i>
      {text}
    </>
  );
}

/** A bin of one event among thousands is still seen. */
const LEAST_BIN = 0.15;

interface HistogramProps {
  bins: HistogramBins;
  /** What took these times. */
  name: string;
  /** Whether the Tab key stops here: in one row of a table. */
  isStop: boolean;
  publish: (message: LinkMessage) => void;
}

/** One control, as single bars are too small to be one each: arrow keys choose a bar, Enter and a click select. */
function Histogram({ bins, name, isStop, publish }: HistogramProps) {
  const { counts, events } = bins;
  const most = Math.max(...counts);
  const filled = [...counts.keys()].filter((at) => counts[at] > 0);
  const [current, setCurrent] = useState(0);
  const select = (index: number) => {
    setCurrent(index);
    publish({ kind: "select", events: events[filled[index]], of: counts[filled[index]] });
  };
  const press = (event: KeyboardEvent) => {
    if (isShortcut(event)) return;
    const last = filled.length - 1;
    if (event.key === "ArrowRight") setCurrent(Math.min(current + 1, last));
    else if (event.key === "ArrowLeft") setCurrent(Math.max(current - 1, 0));
    else if (event.key === "Enter" || event.key === " ") select(current);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <span
      class="histogram"
      role="slider"
      tabIndex={isStop ? 0 : -1}
      aria-label={`Durations of ${isolated(name)}`}
      aria-description="Left and right arrows go from bar to bar, Enter selects its events."
      aria-valuemin={1}
      aria-valuemax={filled.length}
      aria-valuenow={current + 1}
      aria-valuetext={binText(bins, filled[current])}
      onKeyDown={press}
      onClick={(event) => {
        const bar = (event.target as Element).closest<HTMLElement>("[data-bar]")?.dataset.bar;
        const index = filled.indexOf(Number(bar));
        if (index >= 0) select(index);
      }}
    >
      {counts.map((count, at) => (
        <i
          key={at}
          data-bar={at}
          data-current={at === filled[current] || undefined}
          title={count ? binText(bins, at) : undefined}
        >
          {count > 0 && <b style={{ height: `${100 * Math.max(count / most, LEAST_BIN)}%` }} />}
        </i>
      ))}
    </span>
  );
}

/** "1.2 ms to 1.5 ms: 30 events". */
export function binText({ edges, counts, events }: HistogramBins, at: number): string {
  const [from, to] = [formatDuration(edges[at]), formatDuration(edges[at + 1])];
  const part =
    events[at].length < counts[at] ? `, selects the ${formatCount(events[at].length)} longest` : "";
  return `${from === to ? from : `${from} to ${to}`}: ${formatNumber(counts[at], "event")}${part}`;
}
