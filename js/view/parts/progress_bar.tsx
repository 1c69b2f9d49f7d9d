/** A thin line over the lanes while more of the trace is on its way. */

import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";

export function ProgressBar({ store }: { store: Store }) {
  useTopics(store, ["notice"]);
  const { notice } = store;
  if (!notice) return null;
  const isKnown = notice.part !== null;
  return (
    <div
      class="progress"
      role="progressbar"
      aria-label={notice.text}
      aria-valuenow={isKnown ? Math.round(100 * (notice.part ?? 0)) : undefined}
      data-unknown={isKnown ? undefined : ""}
    >
      <i style={{ width: isKnown ? `${100 * (notice.part ?? 0)}%` : "100%" }} />
    </div>
  );
}
