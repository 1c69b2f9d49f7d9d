/** Finds the texts of a table that contain a text, ignoring case. */

import type { Strings } from "../wire/string_table";

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
export function textHits(strings: Strings, text: string): Uint8Array {
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
