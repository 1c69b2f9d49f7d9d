/** The parts of a chart, as written by display/tabs, and its interface to the host. */

export interface ChartBlock {
  kind: "chart";
  title: string;
  definition: string;
  cannot_say: string;
  /** What BokehJS makes the figure of. */
  item: BokehItem | null;
  /** What its colours mean; `name` is the entry of the palette that a colour is of, empty without one. */
  legend: { label: string; colour: string; name: string }[];
  /** Whether it needs all the width: one along the run's time does. */
  wide: boolean;
}

export interface BokehItem {
  doc: unknown;
  root_id: string;
  version?: string;
}

export interface ChartHost {
  /** The link that it shares with the timeline; see host/channel.ts. */
  readonly link: string;
  /** Version of BokehJS that the charts were made for. */
  readonly bokehVersion: string;
  /** The gzip'd code of BokehJS. Rejects with a readable message. */
  bokeh(): Promise<Uint8Array>;
}
