/** Explanations of terms, for tooltips. docs/glossary.md is written from the same file. */

import glossary from "../../tfvis_nb/core/glossary.json";

const MEANINGS: ReadonlyMap<string, string> = new Map(Object.entries(glossary));

export function meaningOf(term: string): string | undefined {
  return MEANINGS.get(term) ?? MEANINGS.get(term.toLowerCase());
}
