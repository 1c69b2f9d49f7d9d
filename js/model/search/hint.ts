/** What to type instead, where a search cannot be read or finds nothing. */

import { isolated } from "../format/bidi";
import type { Drawn } from "../types";
import { type Clause, FILTERS, unknownFilters } from "./query";
import { kindWords } from "./search";

const WORDS = "Words are searched in names, ops, lanes, tensors and kernels.";
const EXAMPLES: Record<string, string> = {
  dur: "dur:>5ms or dur:<10us",
  bytes: "bytes:>1MB or bytes:<4KiB",
  step: "step:3 or step:3-7",
  line: "line:12 or line:12-20",
};

const KNOWN = `Filters: ${FILTERS.map((filter) => `${filter}:`).join(" ")}`;

/** Names filters whose values cannot be read; words that merely look like filters only if the search finds nothing. */
export function filterProblem(clauses: readonly Clause[], isFound: boolean): string | null {
  const { unread, unnamed } = unknownFilters(clauses);
  if (unread.length > 0) {
    const fields = [...new Set(unread.map((word) => word.slice(0, word.indexOf(":"))))];
    const examples = fields.map((field) => EXAMPLES[field]).join("; ");
    return `Cannot read ${unread.map(isolated).join(", ")}. Write ${examples}.`;
  }
  if (isFound || unnamed.length === 0) return null;
  return `Unknown filter ${unnamed.map(isolated).join(", ")}. ${KNOWN}`;
}

/** The same, and of other searches that find nothing how a search works, or which kinds there are. */
export function searchHint(clauses: readonly Clause[], isFound: boolean, drawn: Drawn): string | null {
  const problem = filterProblem(clauses, isFound);
  if (problem || isFound) return problem;
  const kinds = kindsOf(drawn);
  const isOther = clauses.some(({ terms }) =>
    terms.some(
      (term) =>
        term.type === "text" && term.field === "kind" && !kinds.some((kind) => kind.includes(term.text)),
    ),
  );
  return isOther
    ? `Kinds in this trace: ${kinds.map((kind) => (kind.includes(" ") ? `"${kind}"` : kind)).join(", ")}`
    : `${WORDS} ${KNOWN}`;
}

/** What `kind:` can be of the events of a trace: their kinds and the names of their activities. */
function kindsOf({ category, categories }: Drawn): string[] {
  return [...new Set([...new Set(category)].flatMap((at) => kindWords(categories[at])))];
}
