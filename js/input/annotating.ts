/** The user's actions with annotations and marks. */

import type { Annotation } from "../model/annotations";
import { draftOf } from "../state/annotations";
import { Navigation } from "../state/navigation";
import type { Store } from "../state/store";
import type { Mark } from "../state/view_state";

export class Annotating extends Navigation {
  constructor(
    store: Store,
    readonly surroundings: Surroundings,
  ) {
    super(store);
  }

  copy(text: string): void {
    const { hint, copy } = this.surroundings;
    copy(text).then(hint);
  }

  /** Name and comment the selection, the measured interval or the time at the pointer. */
  annotate(): void {
    const draft = draftOf(this.store);
    // A cell of a fleet's page shows its timeline for a while only.
    if (!this.store.host.exports.includes("html"))
      this.surroundings.hint("To annotate it, open the trace in a timeline of its own");
    else if (draft) this.store.setPanel({ draft, panelOpen: true });
    else
      this.surroundings.hint("To annotate, select an event, drag a range or point at a time, then press N");
  }

  /** Show the list of all annotations, in the details of the whole run. */
  listAnnotations(): void {
    const { store } = this;
    if (store.host.get("annotations").length === 0) {
      this.surroundings.hint("There are no annotations yet: press N to make one");
      return;
    }
    if (store.searchText) store.setSearch("");
    store.select(null);
    store.setPanel({ panelOpen: true, isAskedForAnnotations: true });
  }

  /** Bring what an annotation is about into view, and select it. */
  visitAnnotation({ kind, start, end, lanes, event }: Annotation): void {
    const { store } = this;
    if (event !== null) {
      this.visitEvent(event);
      return;
    }
    const { whole } = store;
    if (store.aligned || end < whole.start || start > whole.end) store.showStep(null);
    store.selectInRun(kind === "mark" ? null : { start, end, lanes, step: null });
    if (lanes?.length) this.keepLanesInSight(lanes);
    const { viewport } = store;
    const span = viewport.end - viewport.start;
    if (end > start) this.show({ start, end });
    else if (start < viewport.start || start > viewport.end)
      this.show({ start: start - span / 2, end: start + span / 2 }, 0);
  }

  /** Zoom so far in that annotations that share a flag have one each. */
  showAnnotations(annotations: readonly Annotation[]): void {
    const starts = annotations.map(({ start }) => start);
    const [start, end] = [Math.min(...starts), Math.max(...starts)];
    if (end > start) this.show({ start, end }, 0.4);
    else this.listAnnotations();
  }

  /** Mark the selected interval; a kept mark stays, a passing one is replaced, marking it again takes it away. */
  mark(kept: boolean): void {
    const { store } = this;
    const span = this.selectedSpan();
    if (!span && store.marks.length === 0)
      this.surroundings.hint("To measure, select an event or drag a range, then press M");
    const isSame = (mark: Mark) => span && mark.start === span.start && mark.end === span.end;
    const isPresent = store.marks.some((mark) => isSame(mark) && mark.kept === kept);
    const others = store.marks.filter((mark) => mark.kept && !isSame(mark));
    store.setMarks(span && !isPresent ? [...others, { ...span, kept }] : others);
  }
}

/** What actions need of the page around the lanes. */
export interface Surroundings {
  focusLanes: () => void;
  focusSearch: () => boolean;
  /** Fill the screen, or leave it. */
  fullScreen: () => Promise<void>;
  /** Put a text into the clipboard; resolves with what to tell the user. */
  copy: (text: string) => Promise<string>;
  /** Opens the menu of how the timeline is drawn. */
  openView: () => void;
  /** Opens the menu of the selection. */
  openMenu: () => void;
  /** Show a short message for a while. */
  hint: (text: string) => void;
}
