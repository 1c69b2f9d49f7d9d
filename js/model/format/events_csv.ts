/** Events as a CSV file, the same to the byte as tfvis_nb/writing/csv.py writes it. */

import { laneLabel } from "../lanes/labels";
import type { Drawn } from "../types";
import type { DetailsView } from "../wire/details";
import { csvText, type Field } from "./table_text";

const COLUMNS = "event,step,lane,name,op,start_ns,duration_ns,bytes,source,destination,tensor".split(",");

/** Some events of a run (not of its aligned steps), times in epoch nanoseconds. */
export function eventsCsv(run: Drawn, details: DetailsView | null, ids: Iterable<number>): string {
  const rows: Field[][] = [];
  for (const id of ids)
    rows.push([
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
    ]);
  return csvText(COLUMNS, rows);
}
