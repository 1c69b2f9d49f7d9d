/** Preact and the monitor's store: drawn again when it changes, and every second for what is said in "3 s ago". */

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
