/** Reads the facts about a timeline as a whole, as display/wire/header.py writes them. */

import { type WireClock, withClocks } from "../lanes/clock_bounds";
import type { Described, Lane } from "../types";
import type { Container } from "./container";

type Header = Omit<Described, "originNs" | "span" | "lanes"> & {
  origin_ns: string;
  span_ns: number;
  lanes: Omit<Lane, "id">[];
  clocks: WireClock[];
};

export function describedIn(container: Container): Described {
  const { origin_ns, span_ns, lanes, clocks, ...described } = container.header as unknown as Header;
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
