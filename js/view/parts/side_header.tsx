/** The line over one of two compared timelines: its title and its own headline. */

import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { ShownTrace } from "./toolbar";

export function SideHeader({ store }: { store: Store }) {
  useTopics(store, ["details"]);
  const sentence = store.details?.overview?.headline;
  return (
    <div class="toolbar side">
      <ShownTrace store={store} />
      {sentence && <span class="sentence">{sentence}</span>}
    </div>
  );
}
