/** Figures of a table's column, written in its unit. */

import { NO_STEP } from "../types";
import type { ColumnUnit } from "../wire/schema";
import {
  formatBandwidth,
  formatBytes,
  formatCount,
  formatDuration,
  formatOperations,
  formatPercent,
  formatRatio,
  formatTime,
} from "./units";

const UNKNOWN = "–";
/** A time is written to the microsecond: enough to find it by. */
const MOMENT_NS = 1000;

const FORMATS: Record<Exclude<ColumnUnit, "text" | "name">, (value: number) => string> = {
  ns: formatDuration,
  change: (value) => (value > 0 ? `+${formatDuration(value)}` : formatDuration(value)),
  time: (value) => formatTime(value, MOMENT_NS),
  bytes: formatBytes,
  "bytes/s": formatBandwidth,
  operations: formatOperations,
  "operations/s": (value) => `${formatOperations(value)}/s`,
  count: formatCount,
  number: String,
  step: (value) => (value === NO_STEP ? "outside steps" : String(value)),
  share: formatPercent,
  ratio: formatRatio,
};

/** The text of a cell; "–" if unknown. */
export function formatCell(value: string | number | null, unit: ColumnUnit): string {
  if (value === null || (typeof value === "number" && Number.isNaN(value))) return UNKNOWN;
  if (typeof value === "string" || unit === "text" || unit === "name") return String(value);
  return FORMATS[unit](value);
}
