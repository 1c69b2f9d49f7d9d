/** Whether there is code, and the events of a line of it. */

import type { Code, Place } from "../model/wire/code";
import type { Totals } from "../model/wire/schema";
import { NOT_FOR_DATASET } from "./critical_path";
import type { Store } from "./store";

const NO_STACKS =
  "Not available: the trace has no Python stacks of its ops. " +
  "Recordings of %%trace and tfvis_nb.trace() have them, unless their source is left out";

/** Totals of a line over its phases, or in one of them. */
export type Line = Place & Totals;

/** Why no code can be shown; empty if it can. */
export function whyNoCode({ code, details, detailsError, run }: Store): string {
  if (code) return "";
  if (run.rest === "lanes") return NOT_FOR_DATASET;
  return details || run.rest ? NO_STACKS : (detailsError ?? "Loading the rest …");
}

/** The lines that took time, those with the most time on devices first; of one phase unless `phase` is "". */
export function topLines({ files, lines }: Code, phase: string): Line[] {
  const found = new Map<string, Line>();
  for (const { file, line, ...each } of lines) {
    if (phase && each.phase !== phase) continue;
    const key = `${file} ${line}`;
    const sum = found.get(key);
    found.set(key, { file: files[file].name, line, ...totalsOf(sum ? [sum, each] : [each]) });
  }
  return [...found.values()].sort((a, b) => b.device - a.device || b.host - a.host);
}

/** All of some totals together. */
export function totalsOf(parts: readonly Totals[]): Totals {
  const sum = { device: 0, host: 0, copied: 0, events: 0, sampled: 0 };
  for (const part of parts) for (const name of Object.keys(sum) as (keyof Totals)[]) sum[name] += part[name];
  return sum;
}

/** The events of a line, by id; of one phase unless `phase` is "". */
export function eventsOfLine({ details, drawn }: Store, { file, line }: Place, phase: string): number[] {
  const found: number[] = [];
  for (let id = 0; details && id < drawn.count; id++) {
    const frame = details.ownFrame(id);
    if (frame?.line !== line || frame.file.name !== file) continue;
    if (!phase || details.phase(id) === phase) found.push(id);
  }
  return found;
}

/** Dim all but the selected events, until something else is selected. */
export function dimOthers(store: Store, events: readonly number[]): void {
  const isOf = new Uint8Array(store.drawn.count);
  for (const id of events) isOf[id] = 1;
  store.highlight(isOf);
  const until = new AbortController();
  const check = () => {
    const now = store.selection;
    const isSame =
      now && "events" in now && now.events.length === events.length && now.events[0] === events[0];
    if (isSame) return;
    until.abort();
    store.highlight(null);
  };
  store.on(["selection"], check, until.signal);
}
