/** A button that copies a table: as CSV with exact figures, or as Markdown as it is shown. */

import { useEffect, useState } from "preact/hooks";
import { copied } from "./clipboard";
import { Popover } from "./popover";

interface CopyTableProps {
  /** Name of the table. */
  name: string;
  csv: () => string;
  markdown: () => string;
}

const SAID_MS = 2000;

export function CopyTable({ name, csv, markdown }: CopyTableProps) {
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
  return (
    <div class="copy">
      <Popover text={said || "Copy"} label={`Copy: ${name}`} kind="menu" name={`Copy: ${name}`}>
        {(close) => (
          <>
            <button type="button" role="menuitem" onClick={() => copy(csv(), close)}>
              as CSV
            </button>
            <button type="button" role="menuitem" onClick={() => copy(markdown(), close)}>
              as Markdown
            </button>
          </>
        )}
      </Popover>
      <span class="visually-hidden" role="status">
        {said}
      </span>
    </div>
  );
}
