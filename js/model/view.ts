/** What a timeline shows, as a value; display/shaping/views.py has the same form. */

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
