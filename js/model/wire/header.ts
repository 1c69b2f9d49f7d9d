/** Reads the facts about a timeline as a whole. */

import { withClocks } from "../lanes/clock_bounds";
import type { Described } from "../types";
import type { Container } from "./container";
import type { TimelineHeader } from "./schema";

export function describedIn(container: Container): Described {
  const { origin_ns, span_ns, lanes, clocks, ...described } = container.header as unknown as TimelineHeader;
  return {
    ...described,
    originNs: BigInt(origin_ns),
    span: span_ns,
    lanes: withClocks(
      lanes.map((lane, id) => ({ ...lane, id })),
      clocks,
    ),
  };
}
