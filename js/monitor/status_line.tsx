/** The line at the bottom: errors, waits, news, or else hints. */

import { isolated } from "../model/format/bidi";
import { formatCount, formatDuration } from "../model/format/units";
import type { MonitorStore } from "./store";

export function StatusLine({ store }: { store: MonitorStore }) {
  const { notice, failure } = store;
  const trace = notice?.trace;
  return (
    <div class="status">
      {failure ? (
        <span class="failed" role="alert">
          {failure}
        </span>
      ) : (
        <span class="notice" role="status">
          {store.isWaiting
            ? store.host.patience
            : notice &&
              `${notice.text}${trace ? `: ${isolated(trace.label)}, run ${formatCount(trace.run)}, ${formatDuration(trace.duration_ns)}` : ""}`}
        </span>
      )}
      {trace && !failure && !store.isWaiting && (
        <button type="button" class="open" onClick={() => store.open(trace)}>
          Open
        </button>
      )}
      <span class="hints">
        <kbd>↑</kbd> <kbd>↓</kbd> rows · <kbd>Enter</kbd> opens · <kbd>/</kbd> filters
      </span>
    </div>
  );
}
