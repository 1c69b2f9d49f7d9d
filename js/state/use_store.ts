/** Connects Preact to the store: a component renders when one of its topics changes. */

import { useLayoutEffect, useReducer } from "preact/hooks";
import type { Store } from "./store";
import type { Topic } from "./view_state";

export function useTopics(
  store: Store,
  topics: readonly Topic[],
  concerns: () => unknown = Math.random,
): void {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useLayoutEffect(() => {
    const mounted = new AbortController();
    let seen = concerns();
    const check = () => {
      const now = concerns();
      if (now !== seen) redraw(undefined);
      seen = now;
    };
    store.on(topics, check, mounted.signal);
    return () => mounted.abort();
  }, [store]);
}
