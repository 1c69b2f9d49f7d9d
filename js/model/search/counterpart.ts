/** Finds the event of a trace that corresponds to an event of another trace. */

import { kindIn } from "../lanes/event_text";
import type { Drawn } from "../types";

/** An event as another trace knows it, and when it begins: nanoseconds from the origin. */
export interface Described {
  name: string;
  op: string;
  kind: string;
  start: number;
}

/** The event of the same node, op type and kind that begins nearest to the same time; null without one. */
export function counterpart(drawn: Drawn, { name, op, kind, start }: Described): number | null {
  const opNumber = drawn.ops.indexOf(op);
  const isKind = drawn.categories.map((category) => kindIn(category) === kind);
  if (opNumber < 0) return null;
  const isNamed = new Map<number, boolean>();
  const hasName = (text: number) => {
    const known = isNamed.get(text) ?? drawn.names.get(text) === name;
    isNamed.set(text, known);
    return known;
  };
  let found: number | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (let id = 0; id < drawn.count; id++) {
    if (drawn.op[id] !== opNumber || !isKind[drawn.category[id]] || !hasName(drawn.name[id])) continue;
    // An entry that stands for several events is not one event to match.
    if (drawn.merged && drawn.merged.count[id] > 1) continue;
    const apart = Math.abs(drawn.start[id] - start);
    if (apart >= least) continue;
    least = apart;
    found = id;
  }
  return found;
}
