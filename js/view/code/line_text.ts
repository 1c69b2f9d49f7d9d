/** Texts about a line of code. */

import { isolated } from "../../model/format/bidi";
import { formatBytes, formatDuration, formatNumber, formatPercent } from "../../model/format/units";
import type { Place, Totals } from "../../model/wire/code";

/** Reasons why events have no line. */
export const REASON_TEXTS: Readonly<Record<string, string>> = {
  waiting: "Waiting",
  compiling: "Compiling",
  "input pipeline": "Input pipeline",
  runtime: "Runtime",
  library: "Library only",
  "no stack": "No stack",
};

/** A file's name without its folders. */
export function shortName(file: string): string {
  return file.slice(Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\")) + 1) || file;
}

/** Such as "model.py:12". */
export function placeLabel({ file, line }: Place): string {
  return `${isolated(shortName(file))}${line ? `:${line}` : ""}`;
}

/** The time on devices, or else on the host, and its share of all events'. */
export function shareText({ device, host }: Totals, whole: Totals): string {
  return device
    ? `${formatDuration(device)}, ${formatPercent(device / whole.device)}`
    : `host ${formatDuration(host)}, ${formatPercent(host / whole.host)}`;
}

/** Totals of a line's events, in words. */
export function totalsText({ device, host, copied, events }: Totals): string {
  return [
    ...(device ? [`device ${formatDuration(device)}`] : []),
    ...(host ? [`host ${formatDuration(host)}`] : []),
    ...(copied ? [`${formatBytes(copied)} copied`] : []),
    formatNumber(events, "event"),
  ].join(", ");
}
