/** The events that a name from outside the timeline refers to. */

import type { Drawn } from "../types";
/**
 * 1 for each event whose op type or node is called `name`, or whose node lies in the scope of that name. Null where
 * there is none: a name that means nothing here dims nothing.
 */
export function highlightMask(drawn: Drawn, name: string): Uint8Array | null {
  const { names, ops } = drawn;
  const scope = `${name}/`;
  const byName = new Uint8Array(names.length);
  for (let id = 0; id < byName.length; id++) {
    const text = names.get(id);
    if (text === name || text.startsWith(scope)) byName[id] = 1;
  }
  const op = ops.indexOf(name);
  let found = 0;
  const mask = new Uint8Array(drawn.count);
  for (let id = 0; id < mask.length; id++) {
    mask[id] = byName[drawn.name[id]] | (drawn.op[id] === op ? 1 : 0);
    found |= mask[id];
  }
  return found ? mask : null;
}
