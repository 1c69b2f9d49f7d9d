/** Finds events by text and duration; each text is looked at once, not once an event. */

import { laneSearchText } from "../lanes/labels";
import { firstAbove, firstAtLeast } from "../lod/bisect";
import { categoryLabel } from "../paint/palette";
import type { Drawn } from "../types";
import type { DetailsView } from "../wire/details";
import type { Strings } from "../wire/string_table";
import { type Field, parseQuery, type Term } from "./query";

export interface Matches {
  /** Event ids, by start. */
  ids: Uint32Array;
  /** 1 for each event that matches. */
  mask: Uint8Array;
}

/**
 * The events that match all words of `text` (see `parseQuery`), upper and lower
 * case alike; none for a text without words. Tensor names are searched once
 * `details` are there. `step` is a place in `drawn.steps`; null searches all.
 */
export function search(
  drawn: Drawn,
  details: DetailsView | null,
  text: string,
  step: number | null,
): Matches {
  const terms = parseQuery(text);
  const mask = new Uint8Array(drawn.count);
  const { leftOut = 0 } = drawn;
  if (terms.length === 0) return { ids: new Uint32Array(0), mask };
  if (step === null) for (let id = 0; id < mask.length; id++) mask[id] = drawn.lane[id] < leftOut ? 0 : 1;
  else if (drawn.step === null) mask.fill(step === 0 ? 1 : 0);
  else for (let id = 0; id < mask.length; id++) mask[id] = drawn.step[id] === step ? 1 : 0;
  for (const term of terms) {
    if (term.type === "duration") keepDurations(mask, drawn.duration, term);
    else keepTexts(mask, drawn, details, term.field, term.text);
  }
  let count = 0;
  for (let id = 0; id < mask.length; id++) count += mask[id];
  const ids = new Uint32Array(count);
  for (let id = 0, at = 0; at < count; id++) if (mask[id] === 1) ids[at++] = id;
  return { ids, mask };
}

/** The next match after (`direction` 1) or before (-1) event `id`, going round at the end; null when there is none. */
export function neighbour(matches: Matches, id: number, direction: 1 | -1): number | null {
  const { ids } = matches;
  if (ids.length === 0) return null;
  if (direction === 1) return ids[firstAbove(ids, id) % ids.length];
  return ids[(firstAtLeast(ids, id) - 1 + ids.length) % ids.length];
}

function keepDurations(
  mask: Uint8Array,
  duration: Drawn["duration"],
  { longer, inclusive, ns }: Extract<Term, { type: "duration" }>,
): void {
  for (let id = 0; id < mask.length; id++) {
    const holds = longer ? duration[id] > ns : duration[id] < ns;
    if (!holds && !(inclusive && duration[id] === ns)) mask[id] = 0;
  }
}

function keepTexts(
  mask: Uint8Array,
  drawn: Drawn,
  details: DetailsView | null,
  field: Field,
  text: string,
): void {
  const any = field === "any";
  const tables: { hits: Uint8Array; column: Uint8Array | Uint16Array | Uint32Array }[] = [];
  if (any || field === "name") tables.push({ hits: textHits(drawn.names, text), column: drawn.name });
  if (any || field === "op") tables.push({ hits: hitsOf(drawn.ops, text, (op) => op), column: drawn.op });
  if (any || field === "lane") {
    tables.push({ hits: hitsOf(drawn.lanes, text, laneSearchText), column: drawn.lane });
  }
  if (field === "kind") {
    tables.push({ hits: hitsOf(drawn.lanes, text, (lane) => lane.kind), column: drawn.lane });
    const categoryText = (category: string) => `${category} ${categoryLabel(category)}`;
    tables.push({ hits: hitsOf(drawn.categories, text, categoryText), column: drawn.category });
  }
  if (any && details !== null) {
    tables.push({ hits: textHits(details.strings, text), column: details.tensorIds });
  }
  // One flag an event over all tables, and only then the mask: each loop stays on one column.
  const critical = field === "is" && "critical".includes(text) && details?.waiting;
  const found = critical ? critical.onPath(mask.length) : new Uint8Array(mask.length);
  for (const { hits, column } of tables) {
    if (!hits.includes(1)) continue;
    for (let id = 0; id < found.length; id++) found[id] |= hits[column[id]];
  }
  for (let id = 0; id < mask.length; id++) mask[id] &= found[id];
}

function hitsOf<T>(items: readonly T[], text: string, textOf: (item: T) => string): Uint8Array {
  return Uint8Array.from(items, (item) => (textOf(item).toLowerCase().includes(text) ? 1 : 0));
}

/** Lower case of a table, made on the first search in it. */
const lowered = new WeakMap<Strings, string | string[]>();

function lowerCase(strings: Strings): string | string[] {
  let lower = lowered.get(strings);
  if (lower === undefined) {
    lower =
      strings.whole?.toLowerCase() ??
      Array.from({ length: strings.length }, (_, id) => strings.get(id).toLowerCase());
    lowered.set(strings, lower);
  }
  return lower;
}

function textHits(strings: Strings, text: string): Uint8Array {
  const hits = new Uint8Array(strings.length);
  const lower = lowerCase(strings);
  if (typeof lower !== "string") return Uint8Array.from(lower, (item) => (item.includes(text) ? 1 : 0));
  // One pass over the end-to-end texts: offsets tell whose text a hit is in, and whether it runs into the next.
  const { offsets } = strings;
  let id = 0;
  for (let at = lower.indexOf(text); at >= 0 && at < offsets[strings.length]; ) {
    while (offsets[id + 1] <= at) id++;
    const inside = at + text.length <= offsets[id + 1];
    if (inside) hits[id] = 1;
    at = lower.indexOf(text, inside ? offsets[id + 1] : at + 1);
  }
  return hits;
}
