/** Queries for data of a trace that is not in the browser. */

import type { SameName } from "../model/lod/exact_events";
import type { By, RangeSelection, RangeStatistics } from "../model/search/range_statistics";
import type { Matches } from "../model/search/search";

export interface KernelQueries {
  /** Matches of a search; null until they arrive, and then the store is notified. */
  matches(text: string, step: number | null): Matches | null;
  /** Search, and once something is found, fit it into the view; select it unless it is too much to list. */
  visit(text: string): void;
  /** The events with the name of the one selected, by its index; null while they are not known. */
  sameName(entry: number): SameName | null;
  /** Null when there is no answer. */
  statistics(range: RangeSelection, by: By): Promise<RangeStatistics | null>;
}

/** Shown in the status line: the current activity, and its progress (0 to 1) if known. */
export interface Notice {
  text: string;
  part: number | null;
}
