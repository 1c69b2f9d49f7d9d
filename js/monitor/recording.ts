/** Whether a session is being recorded, in words. */

import { formatCount } from "../model/format/units";
import type { MonitorState, TraceRow } from "../model/wire/schema";

export interface Recording {
  /** "waiting": nobody has recorded yet. "stopped": something is wrong. */
  kind: "waiting" | "running" | "ended" | "stopped";
  text: string;
}

export function recording(state: MonitorState): Recording {
  const running = state.processes.filter((row) => row.end_ms === null).length;
  if (state.problem) return { kind: "stopped", text: "Stopped" };
  if (state.waiting) return { kind: "waiting", text: "Waiting for the file" };
  if (running > 0)
    return {
      kind: "running",
      text: running === 1 ? "Recording" : `Recording · ${formatCount(running)} processes`,
    };
  if (state.processes.length === 0) return { kind: "waiting", text: "Waiting for a job" };
  return { kind: "ended", text: "Ended" };
}

/** The message about a request that has not been carried out yet. */
export function pendingText(requested: number, isRunning: boolean): string {
  if (requested === 0) return "";
  if (!isRunning) return "The next run will be traced when a job records again";
  return requested === 1
    ? "The next run will be traced"
    : `The next run will be traced, in ${formatCount(requested)} processes`;
}

/** The label of the button that requests a trace of the next run. */
export function nextRunText(state: MonitorState): string {
  return recording(state).kind === "waiting" ? "Trace run of next job" : "Trace next run";
}

/** Why no trace can be requested; null if it can. */
export function refusal(state: MonitorState): string | null {
  if (state.controllable) return null;
  if (state.waiting) return "There is no file";
  if (state.problem) return "The file cannot be read";
  return "Read-only file: traces cannot be requested";
}

/** Why no next run can be requested; null where one can. */
export function nextRefusal(state: MonitorState): string | null {
  if (recording(state).kind !== "ended") return refusal(state);
  return refusal(state) ?? "The job has ended. Rules apply to the next job";
}

/** Which run was traced; sessions of tftracer do not have its number. */
export function runText(row: TraceRow): string {
  return row.run > 0 ? `run ${formatCount(row.run)}` : `trace ${row.trace}`;
}

/** The message in place of the signatures, while there are none. */
export function nothing(state: MonitorState): { title: string; text: string } {
  if (state.problem) return { title: "Nothing to show", text: "Nothing could be read." };
  if (state.waiting) {
    // The last one: a file's name may have some as well.
    const end = state.waiting.lastIndexOf("; ");
    if (end < 0) return { title: capital(state.waiting), text: "" };
    return {
      title: capital(state.waiting.slice(0, end)),
      text: `${capital(state.waiting.slice(end + 2))}.`,
    };
  }
  return { title: "Nothing has run yet", text: whyNothing(state) };
}

function whyNothing(state: MonitorState): string {
  const { kind } = recording(state);
  if (kind === "running") return "A job is recording. Its first run appears here when it ends.";
  if (kind === "ended") return "The job that recorded into this file ended without a run.";
  return `Runs appear here when a job records into ${state.name}.`;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
