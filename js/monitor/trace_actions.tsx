/** Actions for one trace, except showing it. */

import { useEffect, useRef, useState } from "preact/hooks";
import { isolated } from "../model/format/bidi";
import { Popover } from "../ui/popover";
import type { DownloadFormat, TraceRow } from "./host";
import type { MonitorStore } from "./store";

const FORMATS: [DownloadFormat, label: string, suffix: string][] = [
  ["html", "Offline page", ".html"],
  ["dashboard", "Dashboard", ".html"],
  ["json", "Chrome trace", ".json"],
  ["parquet", "Table", ".parquet"],
];

/** What TensorFlow gave, byte for byte: a pickle has what tfvis and tftracer load, which know no profiles. */
function messages(row: TraceRow): typeof FORMATS {
  if (row.format === "parquet") return [];
  if (row.format === "xspace") return [["pb", "XSpace", ".xplane.pb"]];
  return [
    ["pb", "RunMetadata", ".pb"],
    ["pickle", "RunMetadata", ".pickle"],
  ];
}

interface TraceActionsProps {
  store: MonitorStore;
  row: TraceRow;
  tabIndex: number;
}

export function TraceActions({ store, row, tabIndex }: TraceActionsProps) {
  const [isAsking, setAsking] = useState(false);
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isAsking) keep.current?.focus();
  }, [isAsking]);
  const key = `delete ${row.trace}`;
  const named = `run ${row.run} of ${isolated(row.label)}`;
  if (store.isPending(`download ${row.trace}`)) return <span class="doing">Creating the file …</span>;
  if (store.isPending(key)) return <span class="doing">Deleting …</span>;
  if (isAsking)
    return (
      <span class="ask" role="group" aria-label={`Delete ${named}?`}>
        <button
          type="button"
          class="small alert"
          onClick={() => {
            setAsking(false);
            store.order(key, { do: "delete", traces: [row.trace] });
          }}
        >
          Delete
        </button>
        <button type="button" class="small" ref={keep} onClick={() => setAsking(false)}>
          Keep
        </button>
      </span>
    );
  return (
    <span class="actions">
      <Popover text="Download" label={`Download ${named}`} kind="menu" name="Download" tabIndex={tabIndex}>
        {(close) =>
          [...FORMATS, ...messages(row)].map(([format, label, suffix]) => (
            <button
              key={format}
              type="button"
              role="menuitem"
              onClick={() => {
                close();
                store.download(row, format);
              }}
            >
              {label} <small>{suffix}</small>
            </button>
          ))
        }
      </Popover>
      <button
        type="button"
        aria-label={`Delete ${named}`}
        disabled={!store.isControllable}
        tabIndex={tabIndex}
        onClick={() => setAsking(true)}
      >
        Delete
      </button>
    </span>
  );
}
