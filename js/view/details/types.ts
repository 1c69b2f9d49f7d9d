/** Props of the parts of an event's details. */

import type { Actions } from "../../input/actions";
import type { Store } from "../../state/store";

export interface EventProps {
  store: Store;
  actions: Actions;
  id: number;
}
