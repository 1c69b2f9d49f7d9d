/** The ruler: positions and labels of its ticks. */

import { type Viewport, xAt } from "../viewport";
import { formatIn, TIME_UNITS, timeUnit } from "./units";

export interface Tick {
  /** Nanoseconds from the origin. */
  time: number;
  label: string;
  /** CSS px from the left edge. */
  x: number;
}

export interface Ruler {
  ticks: Tick[];
  /** Base that the labels count from if full times would be too long, such as "12.345 ms +"; else null. */
  base: string | null;
}

/** Labels with more decimals than this are counted from a base instead. */
const DECIMALS = 4;

/**
 * Ticks at 1, 2 or 5 times a power of ten ns, all labelled in one unit. They are at least `minPixels` apart, and so near
 * by default that there are two, however narrow it is.
 */
export function ticks(v: Viewport, width: number, minPixels = Math.min(88, width / 5)): Ruler {
  const span = v.end - v.start;
  if (!(span > 0) || !(width > 0)) return { ticks: [], base: null };
  const step = tickStep((span / width) * minPixels);
  const unit = timeUnit(Math.max(Math.abs(v.start), Math.abs(v.end), step));
  const decimals = Math.round(Math.log10(unit.ns)) - Math.floor(Math.log10(step) + 1e-9);
  const small = timeUnit(step);
  const base = decimals > DECIMALS ? baseOf(v.start, small.ns * 1000) : null;
  const list: Tick[] = [];
  const last = Math.floor(v.end / step);
  for (let n = Math.ceil(v.start / step); n <= last; n++) {
    const time = n * step;
    const label = base === null ? signed(time, unit.ns, step) : signed(time - base, small.ns, step);
    list.push({ time, label, x: xAt(v, time, width) });
  }
  return { ticks: list, base: base === null ? null : `${signed(base, unit.ns, small.ns * 1000)} +` };
}

/** The first of 1, 2, 5, 10, ... ns that is not below `least`; times are whole ns, so no tick parts one. */
function tickStep(least: number): number {
  if (least <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(least) + 1e-9);
  return power * ([1, 2, 5].find((factor) => factor * power >= least * (1 - 1e-9)) ?? 10);
}

function baseOf(start: number, unit: number): number {
  return Math.floor(start / unit) * unit;
}

function signed(time: number, unitNs: number, step: number): string {
  const unit = TIME_UNITS.find((candidate) => candidate.ns === unitNs) ?? TIME_UNITS[0];
  return (time < 0 ? "\u2212" : "") + formatIn(unit, Math.abs(time), step);
}
