/** The interface between the panels and whoever holds their contents: a kernel (panel.ts) or a page (dashboard.ts). */

import type { TabContents } from "./blocks";

export interface PanelsHost {
  /** Of the tabs, in their order. */
  readonly titles: readonly string[];
  /** Which link they share with the timeline; see link.ts. */
  readonly link: string;
  /** Of the BokehJS that the charts were made for. */
  readonly bokehVersion: string;
  /**
   * What a tab holds, always the same object; null while it is computed. Throws, with a readable message, where that
   * went wrong.
   */
  tab(place: number): TabContents | null;
  /** Call `changed` whenever there is more to show. */
  watch(changed: () => void, signal: AbortSignal): void;
  /** The gzip'd code of BokehJS. Rejects with a readable message. */
  bokeh(): Promise<Uint8Array>;
}
