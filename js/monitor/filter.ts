/** Finds the signatures that match the filter. */

import type { SignatureRow } from "./host";

/** The signatures in whose label, kind or names all words of `text` are found, in either case. */
export function filterSignatures(rows: readonly SignatureRow[], text: string): SignatureRow[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...rows];
  return rows.filter((row) => {
    const all = [row.label, row.kind, ...row.fetches, ...row.targets, ...row.feeds].join("\n").toLowerCase();
    return words.every((word) => all.includes(word));
  });
}
