/** Finds events by text and duration; each text is looked at once, not once an event. */

import { activityIn, isKernel, kindIn } from "../lanes/event_text";
import { laneSearchText } from "../lanes/labels";
import { shownWith } from "../lanes/shown_with";
import { firstAtLeast } from "../lod/bisect";
import { activityLabel } from "../paint/palette";
import type { Drawn } from "../types";
import type { DetailsView } from "../wire/details";
import type { Strings } from "../wire/string_table";
import { busyTime } from "./busy_time";
import { type Clause, type Field, parseQuery, type Term } from "./query";

/** An event that was found. */
export interface Found {
  event: number;
  name: string;
  op: string;
  /** Index in `lanes`. */
  lane: number;
  duration: number;
}

export interface Matches {
  /** Event ids, by start; the first of very many. */
  ids: Uint32Array;
  /** How many there are. */
  count: number;
  /** 1 for each event that matches. */
  mask: Uint8Array;
  /** Their summed durations, and how long at least one of them runs (ns), where that is known. */
  total: number;
  busy: number | null;
  /** The best matches in the order of the list: at first the longest first. */
  longest: Found[];
  /** From the first start to the last end, if the kernel has searched for them. */
  span?: { start: number; end: number } | null;
}

type Range = Pick<Extract<Term, { type: "steps" | "lines" }>, "first" | "last">;

/** At most this many of the longest matches are listed. */
const MOST_LISTED = 50;

/**
 * The events that match all words of `text` (see `parseQuery`), upper and lower
 * case alike; none for a text without words. Tensors, CUDA kernels and bytes are known once
 * `details` are there. `step` is a index in `drawn.steps`; null searches all.
 */
export function search(
  drawn: Drawn,
  details: DetailsView | null,
  text: string,
  step: number | null,
): Matches {
  const clauses = parseQuery(text);
  const mask = new Uint8Array(drawn.count);
  if (clauses.length === 0)
    return { ids: new Uint32Array(0), count: 0, mask, total: 0, busy: 0, longest: [] };
  const isShown = shownWith(drawn, step);
  for (let id = 0; id < mask.length; id++) mask[id] = isShown(id) ? 1 : 0;
  for (const clause of clauses) keepMatching(mask, drawn, details, clause);
  let count = 0;
  for (let id = 0; id < mask.length; id++) count += mask[id];
  const ids = new Uint32Array(count);
  let total = 0;
  for (let id = 0, at = 0; at < count; id++)
    if (mask[id] === 1) {
      ids[at++] = id;
      total += drawn.duration[id];
    }
  return {
    ids,
    count,
    mask,
    total,
    busy: busyTime(drawn, ids),
    longest: fitting(drawn, ids, ranks(drawn, clauses)),
  };
}

type Listed = Pick<Matches, "ids" | "longest">;

/** The place of an event in the results: the list first, then all other matches by start; -1 if it does not match. */
export function placeOf({ ids, longest }: Listed, id: number): number {
  const listed = longest.findIndex(({ event }) => event === id);
  const at = firstAtLeast(ids, id);
  if (listed >= 0 || ids[at] !== id) return listed;
  return longest.length + at - longest.filter(({ event }) => event < id).length;
}

/** The number of places. The kernel sends only the first ids of very many matches, so the list can have more. */
export function knownCount({ ids, longest }: Listed): number {
  return ids.length + longest.filter(({ event }) => ids[firstAtLeast(ids, event)] !== event).length;
}

/** The event at a place of `placeOf`. */
export function matchAt({ ids, longest }: Listed, place: number): number {
  if (place < longest.length) return longest[place].event;
  let at = place - longest.length;
  for (const event of Uint32Array.from(longest, (each) => each.event).sort())
    if (firstAtLeast(ids, event) <= at) at++;
  return ids[at];
}

/** How well an event fits: 0 if its op or name is the text, 1 if its op contains it, otherwise 2. */
function ranks({ name, names, op, ops }: Drawn, clauses: readonly Clause[]): (id: number) => number {
  const textsOf = (field: Field) =>
    clauses.flatMap(({ terms, negated }) =>
      terms.flatMap((term) =>
        !negated && term.type === "text" && [field, "any"].includes(term.field) ? term.text : [],
      ),
    );
  const [inOps, inNames] = [textsOf("op"), textsOf("name")];
  const ofOp = ops.map((each) => {
    const text = each.toLowerCase();
    return inOps.includes(text) ? 0 : inOps.some((part) => text.includes(part)) ? 1 : 2;
  });
  const isNamed = new Map<number, boolean>();
  return (id) => {
    if (!isNamed.has(name[id])) isNamed.set(name[id], inNames.includes(names.get(name[id]).toLowerCase()));
    return isNamed.get(name[id]) ? 0 : ofOp[op[id]];
  };
}

function fitting(
  { duration, name, names, op, ops, lane }: Drawn,
  ids: Uint32Array,
  rankOf: (id: number) => number,
): Found[] {
  // The best first, of these the longest, and the earlier of two that are as long; before they are sorted the
  // others are left out.
  let best: number[] = [];
  let last = -1;
  const compare = (a: number, b: number) => rankOf(a) - rankOf(b) || duration[b] - duration[a] || a - b;
  const cut = () => {
    best = best.sort(compare).slice(0, MOST_LISTED);
    last = best[MOST_LISTED - 1] ?? -1;
  };
  for (const id of ids) {
    if (last >= 0 && compare(id, last) > 0) continue;
    best.push(id);
    if (best.length === 16 * MOST_LISTED) cut();
  }
  cut();
  return best.map((id) => ({
    event: id,
    name: names.get(name[id]),
    op: ops[op[id]],
    lane: lane[id],
    duration: duration[id],
  }));
}

function keepMatching(
  mask: Uint8Array,
  drawn: Drawn,
  details: DetailsView | null,
  { terms, negated }: Clause,
): void {
  const found = new Uint8Array(mask.length);
  for (const term of terms) {
    if (term.type === "text") addTexts(found, drawn, details, term);
    else if (term.type === "steps") addSteps(found, drawn, term);
    else if (term.type === "lines") addLines(found, details, term);
    else if (term.type === "bound") addBounded(found, drawn, details, term);
  }
  const wanted = negated ? 0 : 1;
  for (let id = 0; id < mask.length; id++) if (found[id] !== wanted) mask[id] = 0;
}

/** By the innermost frame of the user's own code. */
function addLines(found: Uint8Array, details: DetailsView | null, { first, last }: Range): void {
  for (let id = 0; details && id < found.length; id++) {
    const line = details.ownFrame(id)?.line ?? 0;
    if (line && line >= first && line <= last) found[id] = 1;
  }
}

function addFiles(found: Uint8Array, details: DetailsView | null, text: string): void {
  for (let id = 0; details && id < found.length; id++) {
    if (details.ownFrame(id)?.file.name.toLowerCase().includes(text)) found[id] = 1;
  }
}

function addSteps(found: Uint8Array, drawn: Drawn, { first, last }: Range): void {
  const isIn = Uint8Array.from(drawn.steps, ({ step }) => (step >= first && step <= last ? 1 : 0));
  if (drawn.isAligned) {
    // There, each step has lanes of its own, which are called after it.
    const number = (task: string) => Number(/^step (\d+)$/.exec(task)?.[1] ?? Number.NaN);
    const lanes = drawn.lanes.map(({ task }) => number(task) >= first && number(task) <= last);
    for (let id = 0; id < found.length; id++) if (lanes[drawn.lane[id]]) found[id] = 1;
  } else if (drawn.step === null) {
    if (isIn[0]) found.fill(1);
  } else for (let id = 0; id < found.length; id++) found[id] |= isIn[drawn.step[id]];
}

function addBounded(
  found: Uint8Array,
  drawn: Drawn,
  details: DetailsView | null,
  { of, longer, inclusive, value }: Extract<Term, { type: "bound" }>,
): void {
  const { duration } = drawn;
  if (of === "bytes" && details === null) return;
  for (let id = 0; id < found.length; id++) {
    const figure = of === "bytes" ? (details?.bytes(id) ?? Number.NaN) : duration[id];
    if ((longer ? figure > value : figure < value) || (inclusive && figure === value)) found[id] = 1;
  }
}

function addTexts(
  found: Uint8Array,
  drawn: Drawn,
  details: DetailsView | null,
  { field, text }: { field: Field; text: string },
): void {
  const any = field === "any";
  const tables: { hits: Uint8Array; column: Uint8Array | Uint16Array | Uint32Array }[] = [];
  if (any || field === "name") tables.push({ hits: textHits(drawn.names, text), column: drawn.name });
  if (any || field === "op") tables.push({ hits: hitsOf(drawn.ops, text, (op) => op), column: drawn.op });
  if (any || field === "lane") {
    tables.push({ hits: hitsOf(drawn.lanes, text, laneSearchText), column: drawn.lane });
  }
  if (field === "kind") {
    tables.push({ hits: categoryHits(drawn.categories, text), column: drawn.category });
  }
  if (any && details !== null) {
    const hits = textHits(details.strings, text);
    tables.push({ hits, column: details.tensorIds });
    addKernels(found, drawn, details, hits, text);
  }
  if (field === "file") addFiles(found, details, text);
  if (field === "is" && "critical".includes(text)) {
    const critical = details?.waiting?.onPath(found.length);
    if (critical) tables.push({ hits: Uint8Array.of(0, 1), column: critical });
  }
  // One flag an event over all tables: each loop stays on one column.
  for (const { hits, column } of tables) {
    if (!hits.includes(1)) continue;
    for (let id = 0; id < found.length; id++) found[id] |= hits[column[id]];
  }
}

/**
 * The CUDA name in the label of a kernel: the text before its launch parameters. "" for an op with its
 * inputs.
 */
function kernelName(label: string): string {
  return label.includes(" = ") ? "" : label.split(" regs:", 1)[0];
}

/** Kernels are named by their ops; their own names are in their labels. `hits` are the texts that hold `text`. */
function addKernels(
  found: Uint8Array,
  { category, categories }: Drawn,
  { strings, labelIds }: DetailsView,
  hits: Uint8Array,
  text: string,
): void {
  if (!hits.includes(1)) return;
  const hasKernels = categories.map(isKernel);
  /** For each text: 1 for a name that holds `text`, 2 for one that does not, 0 if not tested yet. */
  const seen = new Uint8Array(hits.length);
  for (let id = 0; id < found.length; id++) {
    const label = labelIds[id];
    if (!hits[label] || !hasKernels[category[id]]) continue;
    if (!seen[label]) {
      seen[label] = kernelName(strings.get(label)).toLowerCase().includes(text) ? 1 : 2;
    }
    if (seen[label] === 1) found[id] = 1;
  }
}

/** Names of a category for searches: its kind, and its activity as named in the legend. */
export function kindWords(category: string): string[] {
  return [kindIn(category), activityLabel(activityIn(category)).toLowerCase()];
}

/**
 * Finds categories by kind or activity. An exact name comes before a part of one, so "input" does not find "input
 * pipeline threads".
 */
function categoryHits(categories: readonly string[], text: string): Uint8Array {
  const words = categories.map((each) => [activityIn(each), ...kindWords(each)]);
  const exact = words.map((each) => each.includes(text));
  return Uint8Array.from(
    exact.includes(true) ? exact : words.map((each) => each.some((word) => word.includes(text))),
    Number,
  );
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

/** 1 for each text of `strings` that holds `text`, which is in lower case. */
function textHits(strings: Strings, text: string): Uint8Array {
  const hits = new Uint8Array(strings.length);
  const lower = lowerCase(strings);
  if (typeof lower !== "string") return Uint8Array.from(lower, (item) => (item.includes(text) ? 1 : 0));
  // One pass over the end-to-end texts: offsets show which text a hit is in, and whether it runs into the
  // next.
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

/**
 * 1 for each event whose op type or node is called `name`, or whose node lies in the scope of that name. Null where
 * there is none: a name that means nothing here dims nothing.
 */
export function highlightMask(drawn: Drawn, name: string): Uint8Array | null {
  const { names, ops } = drawn;
  const scope = `${name}/`;
  const byName = new Uint8Array(names.length);
  for (let id = 0; id < byName.length; id++) {
    const text = names.get(id);
    if (text === name || text.startsWith(scope)) byName[id] = 1;
  }
  const op = ops.indexOf(name);
  let found = 0;
  const mask = new Uint8Array(drawn.count);
  for (let id = 0; id < mask.length; id++) {
    mask[id] = byName[drawn.name[id]] | (drawn.op[id] === op ? 1 : 0);
    found |= mask[id];
  }
  return found ? mask : null;
}

/** Finds events with the same name. */
export class NameIndex {
  readonly #drawn: Drawn;
  readonly #offsets: Uint32Array;
  readonly #ids: Uint32Array;

  constructor(drawn: Drawn) {
    this.#drawn = drawn;
    const offsets = new Uint32Array(drawn.names.length + 2);
    for (const name of drawn.name) offsets[name + 2]++;
    for (let name = 2; name < offsets.length; name++) offsets[name] += offsets[name - 1];
    this.#ids = new Uint32Array(drawn.count);
    // offsets[name + 1] walks from the start of a name's ids to their end, which is where the next name's begin.
    for (let id = 0; id < drawn.count; id++) this.#ids[offsets[drawn.name[id] + 1]++] = id;
    this.#offsets = offsets;
  }

  /** The ids of all events with the name of event `id`, in time order. */
  same(id: number): Uint32Array {
    const name = this.#drawn.name[id];
    return this.#ids.subarray(this.#offsets[name], this.#offsets[name + 1]);
  }
}
