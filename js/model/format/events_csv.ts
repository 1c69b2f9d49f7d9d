/** Events as a CSV file, the same to the byte as tfvis_nb/writing/csv.py writes it. */

import { laneLabel } from "../lanes/labels";
import type { Drawn } from "../types";
import type { DetailsView } from "../wire/details";

const COLUMNS = "event,step,lane,name,op,start_ns,duration_ns,bytes,source,destination,tensor";

/** A field of a CSV file; a text that a spreadsheet would run as a formula gets an apostrophe in front. */
function field(value: string | number | null): string {
  let text = value === null ? "" : String(value);
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Some events of a run (not of its aligned steps), times in epoch nanoseconds. */
export function eventsCsv(run: Drawn, details: DetailsView | null, ids: Iterable<number>): string {
  const lines = [COLUMNS];
  for (const id of ids) {
    const row = [
      id,
      run.steps[run.step?.[id] ?? 0]?.step ?? 0,
      laneLabel(run.lanes[run.lane[id]]),
      run.names.get(run.name[id]),
      run.ops[run.op[id]] ?? "",
      String(run.originNs + BigInt(Math.round(run.start[id]))),
      run.duration[id],
      details?.bytes(id) ?? null,
      details?.source(id) ?? null,
      details?.destination(id) ?? null,
      details?.tensor(id) ?? null,
    ];
    lines.push(row.map(field).join(","));
  }
  return `${lines.join("\n")}\n`;
}
