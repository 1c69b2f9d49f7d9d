/** What the parts of an event's details are given, and what they list. */

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
