/** Values of counters in their units. */

import { formatBytes, formatCount, formatNumber } from "./units";

/** "1,234", "0.05213", "1.23e+21", "12.5 %", "4.00 MiB", "3 elements", "8.7 elements"; "–" for none. */
export function formatAmount(value: number, unit: string): string {
  if (Number.isNaN(value)) return "–";
  if (unit === "bytes") return formatBytes(value);
  if (unit === "elements") return formatNumber(+value.toFixed(1), "element");
  const short = Number.isInteger(value) && Math.abs(value) < 1e15 ? value : Number(value.toPrecision(4));
  return unit ? `${formatCount(short)} ${unit}` : formatCount(short);
}
