/** Texts about a line of code. */

import { isolated } from "../../model/format/bidi";
import { formatBytes, formatDuration, formatNumber, formatPercent } from "../../model/format/units";
import type { Place } from "../../model/wire/code";
import type { Totals } from "../../model/wire/schema";

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
export function totalsText({ device, host, copied, events, sampled }: Totals): string {
  return [
    ...(device ? [`device ${formatDuration(device)}`] : []),
    ...(host ? [`host ${formatDuration(host)}`] : []),
    ...(sampled ? [`${formatDuration(sampled)} of it by samples`] : []),
    ...(copied ? [`${formatBytes(copied)} copied`] : []),
    ...(events || !sampled ? [formatNumber(events, "event")] : []),
  ].join(", ");
}
