/** A search that the kernel answers, where the browser holds only parts of a trace. */

import type { Matches } from "../model/search/search";

export interface KernelSearch {
  text: string;
  step: number | null;
  /** Null until the answer comes. */
  ids: Uint32Array | null;
  found: Pick<Matches, "count" | "total" | "busy" | "longest" | "span">;
  /** Which entries of the outline stand for something found. */
  isMatch: Uint8Array;
}

export const NOTHING = { count: 0, total: 0, busy: 0, longest: [] };
