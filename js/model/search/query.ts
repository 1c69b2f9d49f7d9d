/** Reads what is typed into the search field. */

export type Field = "any" | "name" | "op" | "lane" | "kind" | "is";

/** Every term must hold: a text found in a field (lower case), or a bound on the duration in ns. */
export type Term =
  | { type: "text"; field: Field; text: string }
  | { type: "duration"; longer: boolean; inclusive: boolean; ns: number };

const FIELDS: ReadonlySet<string> = new Set<Field>(["name", "op", "lane", "kind", "is"]);
const UNITS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
};
const BOUND = /^([<>])(=?)(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m)$/;

/** The terms of `text`: words parted by spaces, "op:MatMul", "name:…", "lane:…", "kind:…", "is:critical", ">5ms", "<10us". */
export function parseQuery(text: string): Term[] {
  // "> 1 ms" is one bound, however it is spaced.
  const joined = text.toLowerCase().replace(/([<>]=?)\s*(\.?\d[\d.]*)\s*(ns|us|µs|μs|ms|s|m)\b/g, "$1$2$3");
  return joined.split(/\s+/).filter(Boolean).map(parseTerm).filter(isSaying);
}

function parseTerm(word: string): Term {
  const bound = BOUND.exec(word);
  if (bound !== null) {
    const [, sign, equal, value, unit] = bound;
    return {
      type: "duration",
      longer: sign === ">",
      inclusive: equal === "=",
      ns: Number(value) * UNITS[unit],
    };
  }
  const colon = word.indexOf(":");
  const field = word.slice(0, Math.max(colon, 0));
  if (isField(field)) return { type: "text", field, text: word.slice(colon + 1) };
  // "stream:13" and other texts with a colon are no filters.
  return { type: "text", field: "any", text: word };
}

function isField(text: string): text is Field {
  return FIELDS.has(text);
}

/** A filter that is not written out yet ("op:") would match everything. */
function isSaying(term: Term): boolean {
  return term.type === "duration" || term.text !== "";
}
