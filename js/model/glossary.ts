/** Explanations of terms, for tooltips. docs/glossary.md is written from the same file, and has more. */

import { tooltips } from "../../tfvis_nb/core/glossary.json";
import { host } from "../../tfvis_nb/kinds.json";
import { laneName } from "./lanes/labels";
import type { Lane } from "./types";

const MEANINGS: ReadonlyMap<string, string> = new Map(Object.entries(tooltips));

export function meaningOf(term: string): string | undefined {
  return MEANINGS.get(term) ?? MEANINGS.get(term.toLowerCase());
}

/** Explains the events of a lane. */
export function laneMeaning({ lane, kind }: Pick<Lane, "lane" | "kind">): string | undefined {
  if (lane.startsWith("stream:")) return meaningOf("stream");
  return meaningOf(laneName(lane)) ?? meaningOf(host.includes(kind) ? "thread" : kind);
}
