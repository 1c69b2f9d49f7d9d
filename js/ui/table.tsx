/** A table whose rows can be sorted by its columns. */

import type { ComponentChildren } from "preact";
import { nextOrder, type Order } from "./sort";
import { useUniqueId } from "./unique_id";

/** The head of a column that rows can be sorted by. */
interface SortableHead<Column> {
  column: Column;
  title: string;
  class?: string;
  /** Explains the column, in a title or, at more length, in a tip (see tooltips.ts). */
  hint?: string | undefined;
  definition?: string;
  /** Texts are sorted from A, figures from the largest. */
  isText?: boolean;
  isFixed?: never;
}

interface FixedHead {
  column: string;
  title: string;
  class?: string;
  isFixed: true;
  /** Whether the title is only for those who do not see the column. */
  isUnseen?: boolean;
}

interface PlainTableProps {
  name: string;
  /** Titles with their hints. */
  heads?: readonly (readonly [title: ComponentChildren, hint?: string] | false)[];
  rows: readonly (readonly ComponentChildren[])[];
  class?: string;
}

/** A table in the order of its rows, if there are any. */
export function PlainTable({ name, heads, rows, ...attributes }: PlainTableProps) {
  if (rows.length === 0) return null;
  return (
    <table aria-label={name} {...attributes}>
      {heads && (
        <thead>
          <tr>{heads.map((head) => head && <th title={head[1]}>{head[0]}</th>)}</tr>
        </thead>
      )}
      <tbody>
        {rows.map((cells) => (
          <tr>{cells.map((cell) => cell !== false && <td>{cell}</td>)}</tr>
        ))}
      </tbody>
    </table>
  );
}

export type ColumnHead<Column> = SortableHead<Column> | FixedHead;

interface TableProps<Column> {
  heads: readonly ColumnHead<Column>[];
  order: Order<Column> | null;
  setOrder: (order: Order<Column>) => void;
  /** Attributes of the table. */
  table: Record<string, unknown>;
  /** Its bodies. */
  children: ComponentChildren;
}

export function Table<Column extends string | number>(props: TableProps<Column>) {
  const { heads, order, setOrder, table, children } = props;
  return (
    <table {...table}>
      <thead>
        <tr>
          {heads.map((head) =>
            head.isFixed ? (
              <th key={head.column} scope="col" class={head.class}>
                {head.isUnseen ? <span class="visually-hidden">{head.title}</span> : head.title}
              </th>
            ) : (
              <SortHead key={head.column} {...{ head, order, setOrder }} />
            ),
          )}
        </tr>
      </thead>
      {children}
    </table>
  );
}

interface SortHeadProps<Column> {
  head: SortableHead<Column>;
  order: Order<Column> | null;
  setOrder: (order: Order<Column>) => void;
}

function SortHead<Column>({ head, order, setOrder }: SortHeadProps<Column>) {
  const id = useUniqueId();
  const { column, title, hint, definition, isText = false } = head;
  const direction = order?.column === column ? (order.up ? "ascending" : "descending") : "none";
  return (
    <th scope="col" class={head.class} aria-sort={direction}>
      <button
        type="button"
        title={hint}
        aria-describedby={definition ? id : undefined}
        onClick={() => setOrder(nextOrder(order, column, isText))}
      >
        {title}
      </button>
      {definition && (
        <span id={id} hidden>
          {definition}
        </span>
      )}
    </th>
  );
}
