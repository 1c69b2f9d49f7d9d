/** Colours of values: the darker (in a dark theme the brighter), the larger. */

import { fromOklch, type Rgb, toHex } from "../paint/colour";
import type { Theme } from "../paint/palette";
import type { Values } from "./grid";
import { quantile } from "./spread";

/** Values from `low` to `high` have most of the colours in equal steps; those from `high` to `most` the rest. */
export interface Scale {
  /** The smallest value; it may be below `low`, whose colour it has. */
  least: number;
  low: number;
  high: number;
  most: number;
}

export const COLOURS = 256;
/** The part of the colours for all but the largest values. */
const USUAL = 0.72;
/** The few smallest and largest values, as shares of all. */
const SMALLEST = 0.02;
const LARGEST = 0.05;
/** The largest values have colours of their own if they go this far beyond the usual range, in its lengths. */
const APART = 0.5;

/** The scale of values that are sorted and known; null without any. */
export function scaleOf(sorted: Values): Scale | null {
  if (sorted.length === 0) return null;
  const [low, high, most] = [SMALLEST, 1 - LARGEST, 1].map((share) => quantile(sorted, share));
  const [least] = sorted;
  if (most - high > APART * (high - low)) return { least, low, high, most };
  return { least, low, high: most, most };
}

/** The place of a value on the scale, 0 to 1. */
export function placeOf({ low, high, most }: Scale, value: number): number {
  if (value <= low) return 0;
  const usual = most > high ? USUAL : 1;
  if (value <= high) return high > low ? (usual * (value - low)) / (high - low) : 0;
  return usual + ((1 - usual) * (Math.min(value, most) - high)) / (most - high);
}

/** The values to name beside the colours, with their places: the ends, and where the largest begin. */
export function marksOf(scale: Scale): { value: number; place: number }[] {
  const { low, high, most } = scale;
  if (most === low) return [{ value: low, place: 0 }];
  const values = most > high && high > low ? [low, high, most] : [low, most];
  return values.map((value) => ({ value, place: placeOf(scale, value) }));
}

/**
 * The colours, "#rrggbb". Their lightness changes in equal steps, by which they keep their order for every kind of
 * colour vision and in grey: from yellow over red to purple.
 */
export function colours(theme: Theme): string[] {
  return Array.from({ length: COLOURS }, (_, index): Rgb => {
    const place = index / (COLOURS - 1);
    const way = theme === "light" ? place : 1 - place;
    const [lightest, darkest] = theme === "light" ? [0.955, 0.3] : [0.93, 0.26];
    const chroma = 0.045 + 0.125 * Math.sin(Math.PI * Math.min(0.12 + 0.82 * way, 1));
    return fromOklch(lightest + (darkest - lightest) * way, chroma, 92 - 150 * way);
  }).map(toHex);
}

/** The number of a value's colour. */
export function colourOf(scale: Scale, value: number): number {
  return Math.round(placeOf(scale, value) * (COLOURS - 1));
}
