/** Terms with their values, such as all figures of an event. */

import type { ComponentChildren } from "preact";

/** `hint` explains the value, `meaning` the term. */
export type Fact = readonly [
  term: string,
  value: ComponentChildren,
  hint?: string | undefined,
  meaning?: string | undefined,
];

/** A fact that is false is left out. */
export function Facts({ facts }: { facts: readonly (Fact | false)[] }) {
  return (
    <dl>
      {facts.map(
        (fact) =>
          fact && (
            <>
              <dt title={fact[3]}>{fact[0]}</dt>
              <dd title={fact[2]}>{fact[1]}</dd>
            </>
          ),
      )}
    </dl>
  );
}
