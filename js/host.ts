/**
 * The one interface between the view and whoever holds the data: a Jupyter
 * model (widget.ts) or an exported page (page.ts). Nothing else in js/ knows
 * where bytes and options come from.
 */

/** What the user can set from Python or by the toolbar; both sides see changes. */
export interface Options {
  /** Height of the whole widget in CSS pixels. */
  height: number;
  /** How lanes are grouped: "device" (task > device > lane), "kind" or "none". */
  group_by: "device" | "kind" | "none";
  /** What a bar's colour says: "kind", "op" or "device". */
  color_by: "kind" | "op" | "device";
  /** Show only lanes whose "task device lane" text contains this; "" shows all. */
  lane_filter: string;
  /** What is selected; null when nothing is. */
  selection: Selection | null;
}

/** A selection is either events by id or a range of time on some lanes. */
export type Selection =
  | { events: number[] }
  | {
      /** Nanoseconds from the payload's origin. */
      start: number;
      end: number;
      /** Lane numbers of the payload; null means all lanes. */
      lanes: number[] | null;
      /** Step number, or null for all steps. */
      step: number | null;
    };

/** A file the host can make for the user. */
export type ExportFormat = "html" | "json";

export interface Host {
  /** The gzip'd container with what is drawn. Rejects with a readable message. */
  drawn(progress: (done: number, total: number) => void, signal: AbortSignal): Promise<Uint8Array>;
  /** The gzip'd container with what the details panel shows. */
  details(signal: AbortSignal): Promise<Uint8Array>;
  get<K extends keyof Options>(key: K): Options[K];
  set<K extends keyof Options>(key: K, value: Options[K]): void;
  /** Call `changed` whenever the other side changed `key`. */
  watch<K extends keyof Options>(key: K, changed: (value: Options[K]) => void, signal: AbortSignal): void;
  /** The files this host can make; empty in an exported page, which is one already. */
  readonly exports: readonly ExportFormat[];
  export(format: ExportFormat, signal: AbortSignal): Promise<{ name: string; bytes: Uint8Array }>;
}
