/** Searches objects that have only a text, such as annotations. */

import { parseQuery } from "./query";

/** Whether a text has all that is searched for; with nothing to search for, or with fields, none has. */
export function plainTest(query: string): (text: string) => boolean {
  const clauses = parseQuery(query);
  const isPlain = clauses.every(({ terms }) =>
    terms.every((term) => term.type === "text" && term.field === "any"),
  );
  if (!clauses.length || !isPlain) return () => false;
  return (text) => {
    const whole = text.toLowerCase();
    return clauses.every(
      ({ terms, negated }) =>
        terms.some((term) => term.type === "text" && whole.includes(term.text)) !== negated,
    );
  };
}
