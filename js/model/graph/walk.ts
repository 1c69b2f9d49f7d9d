/** How arrow keys walk through a graph: along its edges, and up and down between nodes that stand above each other. */

import { STRONGEST_FIRST } from "../wire/dataflow";
import type { GraphLayout, PlacedNode } from "./layout";

export type Direction = "left" | "right" | "up" | "down";

/** The event that an arrow key leads to; null if none. */
export function walk({ nodes, edges }: GraphLayout, event: number, direction: Direction): number | null {
  const from = nodes.find((node) => node.event === event);
  if (!from) return null;
  const away = (node: PlacedNode) => Math.abs(node.y - from.y);
  if (direction === "left" || direction === "right") {
    const [here, there] =
      direction === "left" ? (["target", "source"] as const) : (["source", "target"] as const);
    const steps = edges.flatMap((edge) => {
      const node = edge[here] === event && nodes.find((each) => each.event === edge[there]);
      return node ? [{ node, strength: STRONGEST_FIRST.indexOf(edge.kind) }] : [];
    });
    steps.sort((one, other) => one.strength - other.strength || away(one.node) - away(other.node));
    return steps[0]?.node.event ?? null;
  }
  const isAhead = (node: PlacedNode) => (direction === "up" ? node.y < from.y : node.y > from.y);
  const isInColumn = (node: PlacedNode) => Math.abs(node.x - from.x) < (node.width + from.width) / 2;
  const column = nodes.filter((node) => isAhead(node) && isInColumn(node));
  column.sort((one, other) => away(one) - away(other));
  return column[0]?.event ?? null;
}
