/** The contents of the details and the help, and whether they are open. */

import type { Annotation } from "../model/annotations";
import type { By } from "../model/search/range_statistics";
import type { Place } from "../model/wire/code";
import { HoverAndMarks } from "./hover_and_marks";

/** A menu at a position in the window: for an event, or for the lane or group with a key alone. */
export interface Menu {
  x: number;
  y: number;
  event: number | null;
  key: string;
}

interface Panels {
  panelOpen: boolean;
  helpOpen: boolean;
  statisticsBy: By;
  tableOpen: boolean;
  isDragged: boolean;
  flowsOpen: boolean;
  menu: Menu | null;
  isAskedForNotes: boolean;
  isAskedForAnnotations: boolean;
  graphOpen: boolean;
  graphHops: number;
  graphFit: boolean;
  codeOpen: boolean;
  codePlace: Place | null;
  draft: Annotation | null;
}

export class PanelState extends HoverAndMarks {
  panelOpen = true;
  helpOpen = false;
  /** The grouping of the table of a selected range, and whether the table is shown. */
  statisticsBy: By = "op";
  tableOpen = true;
  /** Whether a range is being dragged: a table that opens would move the lanes away. */
  isDragged = false;
  /** Whether all selected events have arrows, those of a range as well. */
  flowsOpen = false;
  menu: Menu | null = null;
  /** Whether the notes are to come into view, until they do. */
  isAskedForNotes = false;
  /** Whether the graph around the selected event is shown, how many hops each way, and small enough for its pane. */
  graphOpen = false;
  graphHops = 2;
  graphFit = false;
  /** Whether the code is shown, and its current line. */
  codeOpen = false;
  codePlace: Place | null = null;
  /** The annotation that is being edited. */
  draft: Annotation | null = null;
  /** Whether the list of annotations is to come into view, until it does. */
  isAskedForAnnotations = false;
  /** Why there are no details; null while they may come. */
  detailsError: string | null = null;

  setPanel(open: Partial<Panels>): void {
    Object.assign(this, open);
    this.emit("panel");
  }

  failDetails(message: string): void {
    this.detailsError = message;
    this.emit("details");
  }
}
