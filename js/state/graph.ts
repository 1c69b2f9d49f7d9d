/** Whether there is a graph around an event. */

import type { Store } from "./store";

/** The fewest and the most hops that can be chosen. */
export const FEWEST_HOPS = 1;
export const MOST_HOPS = 5;

export const LOADING = "Producers and consumers are still loading";

/** Why no graph can be shown around the event; null where one can. */
export function whyNoGraph({ details, detailsError }: Store, id: number | null): string | null {
  if (id === null) return "To see its producers and consumers, select an event";
  if (!details) return detailsError ?? LOADING;
  const degree = details.degree(id);
  if (!degree) return LOADING;
  return degree.inputs + degree.consumers
    ? null
    : "Not available: no producer or consumer of this event is recorded";
}
