/** When the part of a large trace that is in view is to be had in more detail, and which part that is. */
import type { Viewport } from "../viewport";

/** A part of the run, in nanoseconds from the origin, whose events are merged in buckets of this many
 * nanoseconds. */
export interface Window extends Viewport {
  bucket: number;
}

/** Requests are this much finer than a pixel, so that a little zooming needs nothing new. */
const FINER = 2;
/** A part is requested again if less than this share of the view's width is left on either side. */
const LEAST_MARGIN = 0.25;

/**
 * The part to request, three times as wide as the view; null if the loaded part suffices.
 *
 * `pixels` is the width of the picture, `bounds` the whole time range,
 * `outline` the bucket of the whole run, `held` the loaded or requested part.
 */
export function wantedWindow(
  viewport: Viewport,
  pixels: number,
  bounds: Viewport,
  outline: number,
  held: Window | null,
): Window | null {
  const span = viewport.end - viewport.start;
  const nsPerPixel = span / Math.max(pixels, 1);
  if (outline <= nsPerPixel) return null;
  const from = Math.max(viewport.start, bounds.start);
  const to = Math.min(viewport.end, bounds.end);
  if (!(to > from)) return null;
  if (held && held.bucket <= Math.max(nsPerPixel, 1)) {
    const margin = LEAST_MARGIN * span;
    const left = held.start <= Math.max(from - margin, bounds.start);
    const right = held.end >= Math.min(to + margin, bounds.end);
    if (left && right) return null;
  }
  return {
    start: Math.floor(Math.max(from - span, bounds.start)),
    end: Math.ceil(Math.min(to + span, bounds.end)),
    bucket: 2 ** Math.max(Math.floor(Math.log2(nsPerPixel / FINER)), 0),
  };
}
