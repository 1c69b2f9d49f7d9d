/** Files made in the browser itself, with or without a kernel, and how the user gets them. */

import { eventsIn } from "../../model/search/range_statistics";
import type { Store } from "../../state/store";
import { nameOf, opOf, placeOf } from "../details/event_text";

/** Offer `content` as a download. */
export function save(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The download has its own hold on the data once it has begun.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A field of a CSV file; one that a spreadsheet would run as a formula is made text. */
function field(value: string | number | null): string {
  let text = value === null ? "" : String(value);
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The selected events as CSV, times in epoch nanoseconds. */
export function selectedRows(store: Store): Blob {
  const { selection, drawn, run, details } = store;
  if (!selection) throw new Error("nothing is selected");
  const ids = "events" in selection ? selection.events : eventsIn(drawn, selection);
  const lines = ["event,step,lane,name,op,start_ns,duration_ns,bytes,source,destination,tensor"];
  for (const id of ids) {
    const row = [
      id,
      run.steps[run.step?.[id] ?? 0]?.step ?? 0,
      placeOf(store, id),
      nameOf(store, id),
      opOf(store, id),
      String(run.originNs + BigInt(Math.round(run.start[id]))),
      drawn.duration[id],
      details?.bytes(id) ?? null,
      details?.source(id) ?? null,
      details?.destination(id) ?? null,
      details?.tensor(id) ?? null,
    ];
    lines.push(row.map(field).join(","));
  }
  return new Blob([lines.join("\n"), "\n"], { type: "text/csv" });
}
