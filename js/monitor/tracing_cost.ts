/**
 * The cost of a trace: how much longer the traced run took than untraced ones, plus the time outside the run.
 */

import { formatCount, formatDuration, formatRatio } from "../model/format/units";
import type { SignatureRow, TraceRow } from "../model/wire/schema";

export const SLOWS = "Tracing itself slows a run down.";
export const MEAN = "Mean duration of the untraced runs, or of the traced runs if all were traced";
export const RATIO =
  "Typical duration of the listed traced runs divided by that of the untraced runs before them, with its 95 % interval";
export const LONGEST = "The longest untraced run, or the longest traced run if all were traced";

/** How many times the median of the untraced runs before it a traced run took; null without such runs. */
export function ratio({ duration_ns, untraced_ns }: TraceRow): number | null {
  return untraced_ns ? duration_ns / untraced_ns : null;
}

/** "2.31×" */
export function ratioText(row: TraceRow): string {
  const times = ratio(row);
  return times === null ? "–" : `${formatRatio(times)}×`;
}

/** "2.31× (1.90× to 2.60×)": how many times its untraced runs the traced runs of a signature took; "" if unknown. */
export function signatureRatioText({ tracing_ratio }: SignatureRow): string {
  const [times, low, high] = tracing_ratio ?? [null, null, null];
  if (times === null) return "";
  const interval = low === null || high === null ? "" : ` (${formatRatio(low)}× to ${formatRatio(high)}×)`;
  return `${formatRatio(times)}×${interval}`;
}

/** "+12.3 ms"; "" without untraced runs. */
export function addedText({ duration_ns, untraced_ns }: TraceRow): string {
  if (untraced_ns === null) return "";
  const added = duration_ns - untraced_ns;
  return (added > 0 ? "+" : "") + formatDuration(added);
}

/** "2.31× (+12.3 ms) the median of 64 untraced runs before it, 9.4 ms" */
export function comparedText(row: TraceRow): string {
  const { untraced_ns, untraced_runs } = row;
  if (untraced_ns === null) return "no untraced runs to compare with";
  const runs =
    untraced_runs === 1 ? "the untraced run" : `the median of ${formatCount(untraced_runs)} untraced runs`;
  return `${ratioText(row)} (${addedText(row)}) ${runs} before it, ${formatDuration(untraced_ns)}`;
}

/** "45 ms more for the trace"; "" where that is not known. */
export function tracingText({ tracing_ns }: TraceRow): string {
  return tracing_ns === null ? "" : `${formatDuration(tracing_ns)} more to start and collect the trace`;
}

/** "first batch of its epoch"; "" for a session run. */
export function batchText({ batch }: TraceRow): string {
  if (batch === null) return "";
  return batch === 0 ? "first batch of its epoch" : `batch ${formatCount(batch + 1)} of its epoch`;
}

/** The untraced runs of a signature that have ended, and how long they took together. */
export function untraced({ runs, total_ns, traced, traced_ns }: SignatureRow): { runs: number; ns: number } {
  return { runs: runs - traced, ns: total_ns - traced_ns };
}
