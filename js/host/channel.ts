/**
 * How the views of one dashboard keep in sync: in the browser alone, whatever the kernel does.
 *
 * Views come from different bundles (widget.js, panel.js), so they meet in a global that both know by name.
 */

/** Times in nanoseconds from the trace's first event; events by id; `from` is the sender's own mark. */
export type LinkMessage =
  /** This part of the run is in view. */
  | { kind: "view"; start: number; end: number }
  /** The selection, scrolled into view if needed; nothing if all fields are missing. */
  | {
      kind: "select";
      start?: number;
      end?: number;
      events?: readonly number[];
      /** How many there are, if `events` may be only a part of them. */
      of?: number;
      /** The lanes of the range, null for all; a range without is shown and not selected. */
      lanes?: readonly number[] | null;
      /** Figures of the range in the tabs. */
      inRange?: RangeFigures;
      /** Node and op type if one event is selected. */
      name?: string;
      op?: string;
      /** And its kind, for a timeline whose events have other numbers: see comparison_link.ts. */
      event_kind?: string;
      /** The lanes by name, for a timeline with other lane numbers. */
      places?: readonly string[];
      /** The events of the upper and of the lower one of two timelines. */
      sides?: readonly (readonly number[])[];
    }
  /** The number of the step shown alone, of several; null for all of them. */
  | { kind: "step"; step: number | null }
  /** The pointer is over something of this node, scope or op type; null when it has left it. */
  | { kind: "hover"; name: string | null; op?: string }
  /** How wide the labels are (CSS length) and whether details are open: of two timelines, lanes stand above each other. */
  | { kind: "frame"; panelOpen: boolean; labels: string }
  /** A key without a use in the focused view. A view that runs it prevents the browser's default. */
  | { kind: "key"; event: KeyboardEvent }
  /** A new member asks for the view. */
  | { kind: "ask" };

/** A row of a table: figures by the name of their column in display/tabs, and the event that it leads to. */
export interface RangeRow {
  cells: Record<string, string | number | null>;
  event: number;
  /** A name of the palette. */
  colour: string;
}

export interface RangeFigures {
  /** In ns. */
  length: number;
  /** Null where the browser does not have the events. */
  events: ArrayLike<number> | null;
  /** Sums by op or name, or by route of a transfer; null if unknown. */
  rows(by: "op" | "name" | "route"): Promise<RangeRow[] | null>;
}

const LINKS = Symbol.for("tfvis_nb.links");
const TYPE = "link";

type Meeting = typeof globalThis & { [LINKS]?: Map<string, EventTarget> };

/**
 * Joins the link called `id` until `signal` aborts. `onMessage` gets the others' messages, never one's own.
 * Returns a function that sends a message to the others.
 */
export function joinLink(
  id: string,
  onMessage: (message: LinkMessage) => void,
  signal: AbortSignal,
): (message: LinkMessage) => void {
  const page = globalThis as Meeting;
  page[LINKS] ??= new Map();
  const links = page[LINKS];
  const link = links.get(id) ?? new EventTarget();
  links.set(id, link);
  const from = `${Math.random()}`;
  const listener = (event: Event) => {
    const { detail } = event as CustomEvent<LinkMessage & { from: string }>;
    if (detail.from !== from) onMessage(detail);
  };
  link.addEventListener(TYPE, listener, { signal });
  return (message) => {
    if (!signal.aborted) link.dispatchEvent(new CustomEvent(TYPE, { detail: { ...message, from } }));
  };
}
