/** A button that copies a table: with exact figures as a DataFrame or CSV, or with the displayed texts as Markdown. */

import { useEffect, useState } from "preact/hooks";
import { csvText, type Field, frameText } from "../model/format/table_text";
import { copied } from "./clipboard";
import { Popover } from "./popover";

interface CopyTableProps {
  /** Name of the table. */
  name: string;
  /** Heads and rows. */
  data: () => readonly [readonly string[], readonly (readonly Field[])[]];
  markdown: () => string;
}

const SAID_MS = 2000;

export function CopyTable({ name, data, markdown }: CopyTableProps) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (!said) return;
    const timer = setTimeout(() => setSaid(""), SAID_MS);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = (text: string, close: () => void) => {
    close();
    copied(text).then(setSaid);
  };
  const forms: [string, () => string][] = [
    ["as a DataFrame", () => frameText(...data())],
    ["as CSV", () => csvText(...data())],
    ["as Markdown", markdown],
  ];
  return (
    <div class="copy">
      <Popover text={said || "Copy"} label={`Copy: ${name}`} kind="menu" name={`Copy: ${name}`}>
        {(close) => (
          <>
            {forms.map(([form, text]) => (
              <button key={form} type="button" role="menuitem" onClick={() => copy(text(), close)}>
                {form}
              </button>
            ))}
          </>
        )}
      </Popover>
      <span class="visually-hidden" role="status">
        {said}
      </span>
    </div>
  );
}
