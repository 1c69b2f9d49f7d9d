/** The view of a timeline as a value; display/shaping/views.py has the same form. */

import type { Selection } from "./types";

/** Times in nanoseconds from the origin; lanes and groups by the parts of their keys. */
export interface View {
  start: number;
  end: number;
  /** Number of the step shown alone; null for all. */
  step: number | null;
  hidden: string[][];
  pinned: string[][];
  details: boolean;
  graph: boolean;
  code: boolean;
}

export const PANES = ["details", "graph", "code"] as const;
export const GROUPINGS = ["device", "kind", "none"] as const;
export const COLOURINGS = ["kind", "op", "device"] as const;

/** A view with everything else that the user can set up. */
export interface SavedView extends View {
  group_by: (typeof GROUPINGS)[number];
  color_by: (typeof COLOURINGS)[number];
  lane_filter: string;
  selection: Selection | null;
}

export interface NamedView extends SavedView {
  name: string;
}

/** The most of a timeline; display/shaping/views.py has the same. */
export const MOST_VIEWS = 100;
