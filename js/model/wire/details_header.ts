/** What stands before the columns of the `details` container. */

import type { Overview } from "./overview";

/** The header as display/wire/details.py writes it. */
export interface DetailsHeader {
  count: number;
  devices: string[];
  /** The tasks of the ranks, if there are any. */
  tasks?: string[];
  allocators: string[];
  dtypes: Record<string, string>;
  /** Placeholder in labels for the event's own name; "" without one. */
  own_name: string;
  /** Columns that `ids` gives: their names, and the distinct ids as texts because they may exceed 2^53. */
  ids?: Record<string, { label: string; texts: string[] }>;
  overview?: Overview;
  /** Paths of layers; one is "", of events outside of layers. */
  layers?: string[];
}
