/** The drawn data and the selection in it. */

import type { Host } from "../host/host";
import type { AlignedSteps } from "../model/lanes/aligned_steps";
import { byEntry, byEventId } from "../model/lod/merged";
import type { Drawn, Selection } from "../model/types";
import type { Moment } from "../model/wire/memory";
import { ViewState } from "./view_state";

export class SelectionState extends ViewState {
  /** Set while the steps are shown under each other, each from its own start. */
  aligned: AlignedSteps | null = null;
  #run: Drawn;
  /** The last selection that was asked for, and how many events it was taken from. */
  #part: { selection: Selection | null; of: number } = { selection: null, of: 0 };

  constructor(
    run: Drawn,
    readonly host: Host,
    signal: AbortSignal,
  ) {
    super(signal);
    this.#run = run;
    if (HAS_KERNEL) host.watch("selection", () => this.emit("selection"), signal);
  }

  /** The drawn data: the run, or its steps aligned. */
  get drawn(): Drawn {
    return this.aligned?.drawn ?? this.#run;
  }

  /** The run as recorded. */
  get run(): Drawn {
    return this.#run;
  }

  protected set run(run: Drawn) {
    this.#run = run;
  }

  end(id: number): number {
    return (this.drawn.start[id] ?? 0) + (this.drawn.duration[id] ?? 0);
  }

  /** The selection, events by their indexes in `drawn`; those not in it are left out. */
  get selection(): Selection | null {
    const selection = this.host.get("selection");
    return byEntry(this.drawn, this.aligned ? this.aligned.fromRun(selection) : selection);
  }

  /** How many events the selected ones were taken from; 0 if they are all. */
  get selectedOf(): number {
    return this.#part.selection === this.host.get("selection") ? this.#part.of : 0;
  }

  /** The one selected event, or null. */
  get selected(): number | null {
    const selection = this.selection;
    return selection && "events" in selection ? (selection.events[0] ?? null) : null;
  }

  /** The selected range of time, or null. */
  get range(): Extract<Selection, { start: number }> | null {
    const selection = this.selection;
    return selection && "start" in selection ? selection : null;
  }

  select(selection: Selection | null): void {
    this.moment = null;
    const inRun = this.aligned ? this.aligned.toRun(selection) : selection;
    this.host.set("selection", byEventId(this.drawn, inRun));
    if (selection && !this.panelOpen) this.setPanel({ panelOpen: true });
    this.emit("selection");
  }

  /** Show what lay in an allocator's memory at a time. */
  showMemory(moment: Moment): void {
    this.select(null);
    this.moment = moment;
    this.setPanel({ panelOpen: true });
  }

  /**
   * Select in the run's own terms: events by id, also such as are not in the browser yet. They may be a part of `of`
   * events.
   */
  selectInRun(selection: Selection | null, of = 0): void {
    this.#part = { selection, of };
    this.host.set("selection", selection);
    this.emit("selection");
  }
}
