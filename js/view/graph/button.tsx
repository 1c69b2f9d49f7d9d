/** Opens the graph around an event, or shows why there is none. */

import type { Actions } from "../../input/actions";
import { whyNoGraph } from "../../state/graph";
import type { Store } from "../../state/store";

export function GraphButton({ store, actions, id }: { store: Store; actions: Actions; id: number }) {
  const reason = whyNoGraph(store, id);
  return (
    <button
      type="button"
      class="graph-button"
      aria-pressed={store.graphOpen}
      disabled={reason !== null && !store.graphOpen}
      title={reason ?? "Its producers and consumers as a graph (G)"}
      onClick={() => actions.toggleGraph()}
    >
      Graph
    </button>
  );
}
