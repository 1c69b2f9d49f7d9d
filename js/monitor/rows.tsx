/** Rows of the monitor: more are shown on request, arrow keys move among them, and the focus returns to them. */

import type { ComponentChildren, RefObject, VNode } from "preact";
import { useState } from "preact/hooks";
import { formatCount } from "../model/format/units";
import { useRows } from "../ui/arrow_keys";
import type { Order } from "../ui/sort";
import { type ColumnHead, Table } from "../ui/table";

/** Rows shown at first, and more at each click: a job may have thousands of signatures. */
const PAGE_ROWS = 100;

/** Attributes of a row's button. */
export type RowButton = ReturnType<ReturnType<typeof useRows>["button"]>;

interface RowsProps<Row, Column> {
  part: string;
  rows: readonly Row[];
  number: (row: Row) => number;
  group: RefObject<HTMLDivElement | null>;
  heads: readonly ColumnHead<Column>[];
  order: Order<Column>;
  setOrder: (order: Order<Column>) => void;
  /** Attributes of the table. */
  table: Record<string, unknown>;
  draw: (row: Row, button: RowButton) => VNode;
  moved?: (row: number) => void;
  /** Whether a table without rows has its head. */
  hasHead?: boolean;
  /** In place of rows. */
  children: ComponentChildren;
}

export function Rows<Row, Column extends string>(props: RowsProps<Row, Column>) {
  const { part, rows, number, group, draw, moved, hasHead, children, ...table } = props;
  const [most, setMost] = useState(PAGE_ROWS);
  const shown = rows.slice(0, most);
  const { around, button } = useRows(shown.map(number), moved);
  return (
    <div class="rows" role="group" ref={group} data-part={part} {...around}>
      {(rows.length > 0 || hasHead) && (
        <Table {...table}>
          <tbody>{shown.map((row) => draw(row, button(number(row))))}</tbody>
        </Table>
      )}
      {rows.length === 0 && children}
      {rows.length > most && (
        <button type="button" class="more" onClick={() => setMost(most + PAGE_ROWS)}>
          {formatCount(rows.length - most)} more
        </button>
      )}
    </div>
  );
}

/** Returns the focus to a row when the trace it opened is closed. */
export function focusRow(within: Node | null | undefined, table: "signatures" | "traces", row: number): void {
  const root = within?.getRootNode();
  if (!(root instanceof ShadowRoot)) return;
  root.querySelector<HTMLElement>(`[data-part=${table}] [data-row="${row}"]`)?.focus();
}
