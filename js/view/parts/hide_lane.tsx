/** The button of a lane's label that hides it. */

import type { Item } from "../../model/lanes/layout";
import type { Store } from "../../state/store";

export function HideLane({ store, item, called }: { store: Store; item: Item; called: string }) {
  return (
    <button
      type="button"
      aria-label={`Hide ${called}`}
      title="Hide this lane"
      onClick={() => store.lanes.hide(item.key)}
    >
      ×
    </button>
  );
}
