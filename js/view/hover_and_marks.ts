/** What the pointer is over, and the intervals that were measured. */

export interface Hover {
  id: number;
  /** Events that share the pixel under the pointer. */
  count: number;
  /** CSS pixels from the left and top edge of the lanes. */
  x: number;
  y: number;
}

/** A measured interval; a kept one stays when the next is made. */
export interface Mark {
  start: number;
  end: number;
  kept: boolean;
}
