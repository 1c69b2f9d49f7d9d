/** Ids for elements that others refer to. */

import { useState } from "preact/hooks";

let count = 0;

/**
 * An id that no other component has. Those of Preact's `useId` repeat in each part of a timeline that is rendered on its
 * own (Preact 11.2): a button of one part would open the menu of another.
 */
export function useUniqueId(): string {
  return useState(() => `id-${count++}`)[0];
}
