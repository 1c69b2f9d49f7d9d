/** The selected events as a CSV file, made in the browser itself. */

import { locationOf, nameOf, opOf } from "../../model/lanes/event_text";
import { eventsIn } from "../../model/search/range_statistics";
import type { Store } from "../../state/store";

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
      locationOf(store.drawn, id),
      nameOf(store.drawn, id),
      opOf(store.drawn, id),
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
