/** The interface between the panels and whoever holds their contents: a kernel (kernel_host.ts) or an exported page. */

import type { ChartHost } from "../charts/host";
import type { Change } from "../host/messages";
import type { Outcome, Part } from "../model/wire/schema";

export type PartName = Pick<Part, "tab" | "title">;

export interface PanelsHost extends ChartHost {
  /** The parts of the tabs, in their order. */
  readonly parts: readonly PartName[];
  /**
   * Contents of the part of a title, the same object until they change; null while they are computed. Throws with
   * a readable message if that failed.
   */
  part(title: string): Part | null;
  /** The title of the part that is being computed. */
  readonly computing?: string;
  /** The title of the part that is in front, kept for the next run of the cell. */
  chosen?: string;
  /** Call `changed` whenever there is more to show. */
  watch(changed: () => void, signal: AbortSignal): void;
  /** The change of the What if tab, kept for the next run of the cell; null before the first one. */
  change?: Change | null;
  /** Predict the step with a change; rejects with a readable message. Missing where nobody could predict it. */
  predict?(change: Change): Promise<Outcome>;
  /** Show the timeline of that prediction. */
  openPredicted?(change: Change): Promise<unknown>;
}
