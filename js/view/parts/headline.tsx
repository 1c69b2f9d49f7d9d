/** The sentence under the toolbar that sums the trace up, once the details are here. */

import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";

export function Headline({ store }: { store: Store }) {
  useTopics(store, ["details"]);
  const sentence = store.details?.overview?.headline;
  if (!sentence) return null;
  return (
    <div class="headline-bar" title={sentence}>
      <span>{sentence}</span>
    </div>
  );
}
