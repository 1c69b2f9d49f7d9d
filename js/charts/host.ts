/** The interface between charts and their host. */

export interface ChartHost {
  /** The link that it shares with the timeline; see host/channel.ts. */
  readonly link: string;
  /** Version of BokehJS that the charts were made for. */
  readonly bokehVersion: string;
  /** The gzip'd code of BokehJS. Rejects with a readable message. */
  bokeh(): Promise<Uint8Array>;
}
