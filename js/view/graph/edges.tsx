/** The lines of a graph, with the bytes that moved along them. */

import { formatBytes } from "../../model/format/units";
import type { GraphLayout, Size } from "../../model/graph/layout";
import type { GraphEdge } from "../../model/graph/neighbourhood";
import { moves } from "../../model/lanes/event_text";
import type { Store } from "../../state/store";

/** Width of a character, height of a label's line. */
const LETTER_PX = 6.2;
const LINE_PX = 14;
/** More edges are thin, so that fans are not one black line. */
const FEW = 30;

/**
 * The moved bytes: on the edge into a transfer or copy, or if none of `edges` leads into it, on the edges that
 * lead away; "" on others.
 */
export function edgeLabel(
  { drawn, details }: Store,
  { source, target, kind }: GraphEdge,
  edges: readonly GraphEdge[],
): string {
  const isFirst = (event: number) => !edges.some((edge) => edge.target === event && edge.kind === "transfer");
  const moved = moves(drawn, target) ? target : moves(drawn, source) && isFirst(source) ? source : null;
  const bytes = moved === null || kind !== "transfer" ? null : (details?.bytes(moved) ?? null);
  return bytes === null ? "" : formatBytes(bytes);
}

export function labelSize(label: string): Size | null {
  return label ? { width: label.length * LETTER_PX + 8, height: LINE_PX } : null;
}

interface EdgesProps {
  store: Store;
  placed: GraphLayout;
  /** The event whose lines stand out. */
  highlighted: number;
}

export function Edges({ store, placed, highlighted }: EdgesProps) {
  const { width, height, edges } = placed;
  const isHighlighted = ({ source, target }: GraphEdge) => source === highlighted || target === highlighted;
  // Highlighted edges lie on top.
  const ordered = [...edges.filter((edge) => !isHighlighted(edge)), ...edges.filter(isHighlighted)];
  return (
    <svg width={width} height={height} aria-hidden="true" data-many={edges.length > FEW || undefined}>
      {ordered.map((edge) => (
        <g
          key={`${edge.source} ${edge.target}`}
          data-kind={edge.kind}
          data-lit={isHighlighted(edge) || undefined}
        >
          <path d={edge.line} />
          <path class="tip" d={edge.tip} />
        </g>
      ))}
      {edges.map(
        (edge) =>
          edge.label && (
            <Label
              key={`${edge.source} ${edge.target}`}
              {...edge.label}
              text={edgeLabel(store, edge, edges)}
            />
          ),
      )}
    </svg>
  );
}

function Label({ x, y, text }: { x: number; y: number; text: string }) {
  const { width, height } = labelSize(text)!;
  return (
    <>
      <rect x={x - width / 2} y={y - height / 2} width={width} height={height} />
      <text x={x} y={y + 4}>
        {text}
      </text>
    </>
  );
}
