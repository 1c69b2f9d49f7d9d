/**
 * The one interface between the view and whoever holds the data: a Jupyter
 * model (widget.ts) or an exported page (page.ts). Nothing else in js/ knows
 * where bytes and options come from.
 */

import type { Annotation } from "../model/annotations";
import type { Selection } from "../model/types";
import type { NamedView, SavedView, View } from "../model/view";
import type { OwnTrack } from "../model/wire/own_tracks";
import type { Question, TimelineMessage } from "./messages";

/** Options that the user can set from Python or in the toolbar; both sides see changes. */
export interface Options {
  /** Height of the whole widget in CSS pixels. */
  height: number;
  /** How lanes are grouped: "device" (task > device > lane), "kind" or "none". */
  group_by: SavedView["group_by"];
  /** The meaning of a bar's colour: "kind", "op" or "device". */
  color_by: SavedView["color_by"];
  /** Show only lanes whose "task device lane" text contains this; "" shows all. */
  lane_filter: string;
  /** The selection; null if nothing is selected. */
  selection: Selection | null;
  /** Names and comments of people, by start. */
  annotations: readonly Annotation[];
  /** The current view; null for a new timeline's. The other side of a comparison only sees requested changes. */
  view: View | null;
  /** Views that people have named, in the order in which they did. */
  views: readonly NamedView[];
  /** Tracks of the user's own, under the lanes. */
  tracks: readonly OwnTrack[];
}

export type { Question };

/** A file the host can make for the user. */
export type ExportFormat = Extract<TimelineMessage, { kind: "export" }>["format"];

/** JSON, whose form depends on the question, and the bytes that go with it. */
export interface Answer {
  answer: unknown;
  buffers: Uint8Array[];
}

/** A timeline above or below another one at the same times: see state/comparison_link.ts. */
export interface Pair {
  /** 0 of the upper one, 1 of the lower one. */
  side: number;
  /** The time that both show at least (ns). */
  extent: number;
  /** The most bytes that either has of an allocator, by `memoryKey`. */
  memory: Record<string, number>;
  /** How much faster or slower the lower one is, in sentences. */
  headline: readonly string[];
}

export interface Host {
  /** Link that this timeline shares with panels next to it (see channel.ts); empty or absent without one. */
  readonly link?: string;
  /** Empty or absent if not compared. */
  readonly pair?: Partial<Pair>;
  /** Who answers questions; the kernel if absent. */
  readonly source?: string;
  /** Whether the height is kept, even where the lanes need less of it. */
  readonly fills?: boolean;
  /** Aborts when nobody answers any more. */
  readonly end?: AbortSignal;
  /** Why changes are lost, with advice; empty or absent if they are kept. */
  readonly trouble?: string;
  /** Call `changed` when `trouble` changes. */
  watchTrouble?(changed: () => void, signal: AbortSignal): void;
  /** The gzip'd container of the drawn columns. Rejects with a readable message. */
  drawn(progress: (done: number, total: number) => void, signal: AbortSignal): Promise<Uint8Array>;
  /** The gzip'd container of the details panel's columns. */
  details(signal: AbortSignal): Promise<Uint8Array>;
  /** All drawn columns, or all details, if the first picture was an outline. */
  rest(
    part: "drawn" | "details",
    progress: (done: number, total: number) => void,
    signal: AbortSignal,
  ): Promise<Uint8Array>;
  /** Resolves when the answer comes, which a busy kernel gives late. Rejects with a readable message. */
  ask(question: Question, signal: AbortSignal): Promise<Answer>;
  get<K extends keyof Options>(key: K): Options[K];
  set<K extends keyof Options>(key: K, value: Options[K]): void;
  /** Call `changed` whenever Python or another view, but not this one, changed `key`. */
  watch<K extends keyof Options>(
    key: K,
    changed: (value: Options[K], isPython: boolean) => void,
    signal: AbortSignal,
  ): void;
  /** The files this host can make; empty in an exported page, which is one already. */
  readonly exports: readonly ExportFormat[];
  export(format: ExportFormat, signal: AbortSignal): Promise<{ name: string; bytes: Uint8Array }>;
}
