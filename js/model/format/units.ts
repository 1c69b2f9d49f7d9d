/**
 * Numbers as people read them. Times and durations come in ns; NaN reads as "–".
 * tfvis_nb/core/format.py writes the same; tests/data/conformance has the cases that both must pass.
 */

const MINUS = "\u2212";

/** A unit of time: its name, its ns, and the decimals with which it shows a nanosecond. */
interface TimeUnit {
  name: string;
  ns: number;
  decimals: number;
}

export const TIME_UNITS: readonly TimeUnit[] = [
  { name: "ns", ns: 1, decimals: 0 },
  { name: "µs", ns: 1e3, decimals: 3 },
  { name: "ms", ns: 1e6, decimals: 6 },
  { name: "s", ns: 1e9, decimals: 9 },
];

/** The largest unit that is not larger than `ns`. */
export function timeUnit(ns: number): TimeUnit {
  return TIME_UNITS.findLast((unit) => Math.abs(ns) >= unit.ns) ?? TIME_UNITS[0];
}

/** Three significant digits: "845 ns", "12.3 µs", "4.56 ms", "1.23 s"; from a minute on "2 m 03 s". */
export function formatDuration(ns: number): string {
  if (Number.isNaN(ns)) return "–";
  if (ns < 0) return MINUS + formatDuration(-ns);
  if (ns >= 59.95e9) return formatMinutes(Math.round(ns / 1e9));
  if (ns < 999.5 && Number.isInteger(ns)) return `${ns} ns`;
  return scaled(ns, 1000, ["ns", "µs", "ms", "s"]);
}

function formatMinutes(seconds: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} m ${two(seconds % 60)} s`;
  return `${groupThousands(String(Math.floor(minutes / 60)))} h ${two(minutes % 60)} m`;
}

/** A time since the origin with the digits that `resolutionNs` allows: "+30.805 ms", "+1.2300005 s". */
export function formatTime(ns: number, resolutionNs: number): string {
  if (Number.isNaN(ns)) return "–";
  return (ns < 0 ? MINUS : "+") + formatIn(timeUnit(ns), Math.abs(ns), resolutionNs);
}

/** `ns` (not negative) in `unit`, exact to `resolutionNs`; no digit is lost to rounding below 2^53 ns. */
export function formatIn(unit: TimeUnit, ns: number, resolutionNs: number): string {
  const wanted = Math.ceil(Math.log10(unit.ns / Math.max(resolutionNs, 1e-3)) - 1e-9);
  const decimals = Math.min(Math.max(wanted, 0), unit.decimals + 3);
  let whole = Math.floor(ns / unit.ns);
  let rest = ((ns - whole * unit.ns) / unit.ns).toFixed(decimals);
  if (rest.startsWith("1")) {
    whole++;
    rest = (0).toFixed(decimals);
  }
  const digits = groupThousands(String(whole));
  return `${digits}${decimals > 0 ? `.${rest.slice(2)}` : ""} ${unit.name}`;
}

/** "845 B", "4.00 MiB", "1.50 GiB". */
export function formatBytes(bytes: number): string {
  if (Number.isNaN(bytes)) return "–";
  if (bytes < 0) return MINUS + formatBytes(-bytes);
  if (bytes < 1024 && Number.isInteger(bytes)) return `${bytes} B`;
  return scaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
}

/** Bytes a second, in thousands as charts and vendors count them: "1.30 GB/s". */
export function formatBandwidth(bytesPerSecond: number): string {
  if (!Number.isFinite(bytesPerSecond)) return "–";
  return scaled(bytesPerSecond, 1000, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]);
}

/** Floating-point operations: "1.07 GFLOP". */
export function formatOperations(count: number): string {
  if (!Number.isFinite(count)) return "–";
  return count < 1000
    ? `${Math.round(count)} FLOP`
    : scaled(count, 1000, ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"]);
}

/** All digits, thousands parted by commas: "4,194,304". */
export function formatCount(value: number): string {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value) || Math.abs(value) >= 1e21) return String(value).replaceAll("-", MINUS);
  const [whole, decimals] = String(Math.abs(value)).split(".");
  return `${value < 0 ? MINUS : ""}${groupThousands(whole)}${decimals === undefined ? "" : `.${decimals}`}`;
}

/** "1 event", "2 events". */
export function formatNumber(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** "18.4 %", "100 %"; a part too small for one decimal is "<0.1 %". */
export function formatPercent(fraction: number): string {
  if (!Number.isFinite(fraction)) return "–";
  const percent = fraction * 100;
  if (percent > 0 && percent < 0.1) return "<0.1 %";
  return `${percent === 0 || percent >= 99.95 ? percent.toFixed(0) : percent.toFixed(1)} %`;
}

/** "<0.01", "1.25", "11.1", "1,240": how many times another value one is. */
export function formatRatio(ratio: number): string {
  if (ratio > 0 && ratio < 0.005) return "<0.01";
  return Number.isFinite(ratio) ? scaled(ratio, 1000, [""]) : "–";
}

/** A text that does not break between a figure and its unit. */
export function unbroken(text: string): string {
  return text.replace(/(\d) (?=(?:%|×|[nµm]?s|[mh]|(?:[kKMGTP]i?)?B(?:\/s)?)(?![\w%]))/g, "$1\u00a0");
}

/** Three significant digits of `value` in the unit that keeps it below `base`. */
function scaled(value: number, base: number, units: readonly string[]): string {
  let index = 0;
  let rest = value;
  // 999.5 would round to 1000: the next unit shows it better.
  while (index + 1 < units.length && rest >= (base === 1000 ? 999.5 : base)) {
    rest /= base;
    index++;
  }
  const digits = rest >= 99.95 ? groupThousands(rest.toFixed(0)) : rest.toFixed(rest >= 9.995 ? 1 : 2);
  return `${digits} ${units[index]}`.trimEnd();
}

function groupThousands(digits: string): string {
  return digits.replace(/\B(?=(?:\d{3})+$)/g, ",");
}
