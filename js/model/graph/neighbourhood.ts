/** The producers and consumers of an event, a few hops each way. */

import { type Degree, type Edge, type EdgeKind, STRONGEST_FIRST } from "../wire/dataflow";
import type { DetailsView } from "../wire/details";

export const MOST_NODES = 60;
/** Nodes of one hop on one side: as many as one can take in at a time. */
export const MOST_PER_HOP = 12;

export interface Links {
  inputs(event: number): Edge[];
  consumers(event: number): Edge[];
  /** How many edges the event has, those to events that are not loaded included; null while unknown. */
  degree(event: number): Degree | null;
}

/** The edges of a trace, and what compiled programs say about its events. */
export function linksOf(details: DetailsView): Links {
  return {
    inputs: (event) => [...details.inputs(event), ...details.operands(event).inputs],
    consumers: (event) => [...details.consumers(event), ...details.operands(event).consumers],
    degree: (event) => details.degree(event),
  };
}

export interface GraphNode {
  event: number;
  /** Hops from the event in the middle; negative for producers. */
  hop: number;
  /** Edges away from the middle that lead to events which are not shown. */
  hiddenInputs: number;
  hiddenConsumers: number;
}

export interface GraphEdge {
  source: number;
  target: number;
  kind: EdgeKind;
}

export interface Neighbourhood {
  /** The event in the middle comes first. */
  nodes: GraphNode[];
  /** All edges between the nodes; of several between two nodes the strongest. */
  edges: GraphEdge[];
  /** Edges within the hops to nodes beyond the limits. */
  leftOut: number;
}

/**
 * Up to `hops` of producers of producers, and of consumers of consumers. If more nodes than fit are linked,
 * the most strongly linked are taken, then those with the largest `weight`.
 */
export function neighbourhood(
  links: Links,
  middle: number,
  hops: number,
  weight: (event: number) => number,
): Neighbourhood {
  const hopOf = new Map([[middle, 0]]);
  const frontiers = { inputs: [middle], consumers: [middle] };
  for (let hop = 1; hop <= hops; hop++)
    for (const side of ["inputs", "consumers"] as const) {
      const found = new Map<number, number>();
      for (const { event, kind } of frontiers[side].flatMap((each) => links[side](each))) {
        const strength = STRONGEST_FIRST.indexOf(kind);
        if (!hopOf.has(event)) found.set(event, Math.min(found.get(event) ?? strength, strength));
      }
      const ranked = [...found].sort(
        ([one, first], [other, second]) => first - second || weight(other) - weight(one) || one - other,
      );
      const room = Math.min(MOST_PER_HOP, MOST_NODES - hopOf.size);
      frontiers[side] = ranked.slice(0, room).map(([event]) => event);
      for (const event of frontiers[side]) hopOf.set(event, side === "inputs" ? -hop : hop);
    }
  const nodes = [...hopOf].map(([event, hop]): GraphNode => {
    const hidden = (side: keyof Degree) =>
      (links.degree(event)?.[side] ?? 0) - links[side](event).filter((edge) => hopOf.has(edge.event)).length;
    return {
      event,
      hop,
      hiddenInputs: hop <= 0 ? hidden("inputs") : 0,
      hiddenConsumers: hop >= 0 ? hidden("consumers") : 0,
    };
  });
  const inside = nodes.filter(({ hop }) => Math.abs(hop) < hops);
  const leftOut = inside.reduce((sum, node) => sum + node.hiddenInputs + node.hiddenConsumers, 0);
  return { nodes, edges: edgesAmong(links, hopOf), leftOut };
}

function edgesAmong(links: Links, shown: ReadonlyMap<number, number>): GraphEdge[] {
  return [...shown.keys()].flatMap((target) => {
    const strongest = new Map<number, GraphEdge>();
    for (const { event: source, kind } of links.inputs(target)) {
      const known = strongest.get(source);
      const isStronger = !known || STRONGEST_FIRST.indexOf(kind) < STRONGEST_FIRST.indexOf(known.kind);
      if (shown.has(source) && isStronger) strongest.set(source, { source, target, kind });
    }
    return [...strongest.values()];
  });
}
