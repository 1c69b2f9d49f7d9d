/** Props of the parts of an event's details, and the facts they list. */

import type { ComponentChildren } from "preact";
import type { Actions } from "../../input/actions";
import type { Store } from "../../state/store";

export interface EventProps {
  store: Store;
  actions: Actions;
  id: number;
}

export interface Fact {
  term: string;
  value: ComponentChildren;
}
