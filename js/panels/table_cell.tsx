/** Contents of a table cell: a figure, a name, a share with its bar, a change. */

import type { ComponentChildren } from "preact";
import { formatCell } from "../model/format/column_units";
import { shortName } from "../model/lanes/event_text";
import { NO_NAME, UNKNOWN_OP } from "../model/lanes/labels";
import { activityColour } from "../model/paint/palette";
import type { Cell, TableColumn } from "./blocks";
import { ChangeBar } from "./change_bar";

/** A long name is cut in its cell. */
export function titleOf(cell: Cell): string | undefined {
  return typeof cell === "string" && cell.length > 20 ? cell : undefined;
}

/** A figure next to a bar that is long enough to be compared with others. */
export function Long(props: { part: number; colour: string | undefined; children: ComponentChildren }) {
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
  column: TableColumn;
  /** The largest change of the column. */
  most: number;
  /** How many scopes of a name are shown. */
  scopes: number;
  /** Whether a share has no bar of its own, as another column has. */
  isPlain: boolean;
}

export function Figure({ cell, column, most, scopes, isPlain }: FigureProps) {
  const text =
    formatCell(cell, column.unit) ||
    (column.name === "op" ? UNKNOWN_OP : column.unit === "name" ? NO_NAME : "");
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
