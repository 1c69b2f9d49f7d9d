/** Parses the search field; tfvis_nb/display/store/query.py reads the clauses. */

export type Field = "any" | "name" | "op" | "lane" | "kind" | "is" | "file";

/**
 * A text found in a field (lower case), a bound on the duration (ns) or the bytes, the numbers of the first and the last
 * step or line, or a filter that cannot be read, which nothing fits.
 */
export type Term =
  | { type: "text"; field: Field; text: string }
  | { type: "bound"; of: "duration" | "bytes"; longer: boolean; inclusive: boolean; value: number }
  | { type: "steps" | "lines"; first: number; last: number }
  | { type: "unread"; word: string };

/** Terms; at least one must hold, or none if negated. */
export interface Clause {
  terms: Term[];
  negated: boolean;
}

/** Every filter, in the order in which the status line lists them. */
export const FILTERS = ["name", "op", "lane", "kind", "is", "file", "line", "step", "dur", "bytes"];

const TEXT_FIELDS: ReadonlySet<string> = new Set<Field>(["name", "op", "lane", "kind", "is", "file"]);
const NANOSECONDS = new Map(Object.entries({ ns: 1, us: 1e3, µs: 1e3, μs: 1e3, ms: 1e6, s: 1e9, m: 60e9 }));
const BYTES = new Map(
  Object.entries({
    ...{ "": 1, b: 1, k: 1e3, kb: 1e3, m: 1e6, mb: 1e6, g: 1e9, gb: 1e9, tb: 1e12 },
    ...{ kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30, tib: 2 ** 40 },
  }),
);
const BOUND = /^([<>])(=?)(\d+(?:\.\d*)?|\.\d+)([a-zµμ]*)$/;
const RANGE = /^(\d+)(?:-(\d+))?$/;
// "> 1 ms" is one bound and "a | b" one word, however they are spaced; quoted text is kept.
const SPACED =
  /"[^"]*"?|\s*(\|)\s*|([<>]=?)\s*(\.?\d[\d.]*)\s*(ns|us|µs|μs|ms|s|m|[kmgt]i?b|b)(?![0-9a-z_])/g;
const WORD = /(?:[^\s"]|"[^"]*"?)+/g;
const ALTERNATIVE = /(?:[^|"]|"[^"]*"?)+/g;

/**
 * What all must hold: words parted by spaces, "two words" in quotes, "op:MatMul", "name:…", "lane:…", "kind:…",
 * "is:critical", ">5ms" or "dur:>5ms", "bytes:>1MB", "step:3" or "step:3-7", "file:model.py", "line:12" or "line:12-20"; "a|b" is either, "-word" is without.
 */
export function parseQuery(text: string): Clause[] {
  const spaced = text
    .toLowerCase()
    .replace(SPACED, (found, ...groups) => groups.slice(0, 4).filter(Boolean).join("") || found);
  return (spaced.match(WORD) ?? []).map(parseClause).filter(({ terms }) => terms.length > 0);
}

/** Filters whose values cannot be read, and words that only look like filters. */
export function unknownFilters(clauses: readonly Clause[]): { unread: string[]; unnamed: string[] } {
  const terms = clauses.flatMap((clause) => clause.terms);
  const unnamed = terms.flatMap((term) =>
    term.type === "text" && term.field === "any" ? (/^[a-z_]+:/.exec(term.text) ?? []) : [],
  );
  return { unread: terms.flatMap((term) => (term.type === "unread" ? [term.word] : [])), unnamed };
}

function parseClause(word: string): Clause {
  const negated = word.length > 1 && word.startsWith("-");
  let field = "";
  const alternatives = (negated ? word.slice(1) : word).match(ALTERNATIVE) ?? [];
  const terms = alternatives.flatMap((alternative) => {
    const colon = alternative.indexOf(":");
    const named = alternative.slice(0, Math.max(colon, 0));
    // "op:a|b" looks for both in the field; "stream:13" and other texts with a colon are not filters.
    const isNamed = FILTERS.includes(named);
    if (isNamed) field = named;
    return parseTerm(field, isNamed ? alternative.slice(colon + 1) : alternative);
  });
  return { terms, negated };
}

/** No term for a filter that is not written out yet ("op:"): it would match everything. */
function parseTerm(field: string, text: string): Term[] {
  const plain = text.replaceAll('"', "");
  if (plain === "") return [];
  if (TEXT_FIELDS.has(field)) return [{ type: "text", field: field as Field, text: plain }];
  const unread: Term = { type: "unread", word: `${field}:${plain}` };
  if (field === "step" || field === "line") {
    const [, first, last = first] = RANGE.exec(plain) ?? [];
    const type = field === "step" ? "steps" : "lines";
    return [first === undefined ? unread : { type, first: Number(first), last: Number(last) }];
  }
  const of = field === "bytes" ? "bytes" : "duration";
  const [, sign, equal, number, unit = ""] = (text.includes('"') ? null : BOUND.exec(plain)) ?? [];
  const scale = sign && (of === "bytes" ? BYTES : NANOSECONDS).get(unit);
  if (scale)
    return [
      {
        type: "bound",
        of,
        longer: sign === ">",
        inclusive: equal === "=",
        value: Number(number) * scale,
      },
    ];
  return [field ? unread : { type: "text", field: "any", text: plain }];
}
