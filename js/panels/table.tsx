/** A block with a table of figures: each column with its definition, rows that are found in the timeline. */

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { LinkMessage, RangeFigures } from "../host/channel";
import { formatCell } from "../model/format/column_units";
import { markdownText } from "../model/format/table_text";
import { scopesToTell } from "../model/lanes/event_text";
import { BlockHead, CannotSay } from "../ui/block_head";
import { CopyTable } from "../ui/copy_table";
import { moveAmongRows } from "../ui/row_keys";
import { type Order, presentOrder, sortRows } from "../ui/sort";
import { Table } from "../ui/table";
import { useUniqueId } from "../ui/unique_id";
import type { Cell, TableBlock } from "./blocks";
import { largest } from "./change_bar";
import { Histogram } from "./histogram";
import { useRange } from "./in_range";
import { isText, isWide, rowsNote, rowsOfStep, stepText } from "./layout";
import { Figure, Long, titleOf } from "./table_cell";

const DURATIONS = { column: "durations", title: "Durations", class: "text", isFixed: true } as const;

interface TableProps {
  block: TableBlock;
  /** The number of the step shown alone in the timeline. */
  step: number | null;
  /** The range selected there. */
  inRange: RangeFigures | null;
  publish: (message: LinkMessage) => void;
}

export function TableOf({ block: given, step, inRange, publish }: TableProps) {
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
        <Rows {...{ block, shown, marked, publish }} />
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

function Rows({ block, shown, marked, publish }: RowsProps) {
  const { columns, rows, zoom, light, bar, colours, hints, histograms } = block;
  const hasBar = (index: number) => bar !== null && colours[index] !== "";
  const longestBar = Math.max(...rows.map((row, index) => (hasBar(index) ? Number(row[bar as number]) : 0)));
  const [chosen, setOrder] = useState<Order<number> | null>(null);
  const given = useMemo(
    () =>
      presentOrder(
        rows,
        columns.map((column, at) => ({ isText: isText(column), value: (row: Cell[]) => row[at] })),
      ),
    [rows],
  );
  const order = chosen ?? given;
  const most = useMemo(() => columns.map((_, at) => largest(rows, at)), [rows]);
  const scopes = useMemo(() => columns.map((_, at) => scopesToTell(rows.map((row) => `${row[at]}`))), [rows]);
  const [current, setCurrent] = useState(-1);
  const sorted = chosen && order ? sortRows(shown, order.up, (index) => rows[index][order.column]) : shown;
  const stop =
    shown.includes(current) && zoom[current] ? current : (sorted.find((index) => zoom[index]) ?? -1);
  const show = (index: number) => {
    const where = zoom[index];
    if (where) publish({ kind: "select", ...where });
  };
  const nameOf = (index: number) => (light === null ? null : String(rows[index][light] ?? "") || null);
  return (
    <div
      class="rows"
      role="group"
      aria-label={block.title}
      onKeyDown={(event) => moveAmongRows(event, setCurrent)}
    >
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
              aria-current={index === marked || undefined}
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
                            type="button"
                            class="row"
                            data-row={index}
                            tabIndex={index === stop ? 0 : -1}
                            title={titleOf(rows[index][at])}
                            aria-describedby={hint}
                            onFocus={() => setCurrent(index)}
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
