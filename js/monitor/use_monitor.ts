/** Connects Preact to the monitor's store: renders on changes, and every second for texts such as "3 s ago". */

import { useLayoutEffect, useReducer } from "preact/hooks";
import type { MonitorStore } from "./store";

export function useMonitor(store: MonitorStore): void {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useLayoutEffect(() => {
    const changed = () => redraw(undefined);
    const stop = store.on(changed);
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") changed();
    }, 1000);
    changed();
    return () => {
      stop();
      clearInterval(timer);
    };
  }, [store]);
}
