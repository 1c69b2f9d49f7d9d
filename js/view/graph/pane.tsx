/** The pane below the lanes with the graph around the selected event. */

import type { RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Actions } from "../../input/actions";
import { isolated } from "../../model/format/bidi";
import { formatBytes, formatCount, formatNumber } from "../../model/format/units";
import { type GraphLayout, layoutGraph, type Size } from "../../model/graph/layout";
import {
  type GraphEdge,
  linksOf,
  MOST_NODES,
  MOST_PER_HOP,
  type Neighbourhood,
  neighbourhood,
} from "../../model/graph/neighbourhood";
import { type Direction, walk } from "../../model/graph/walk";
import { moves, nameOf, opOf } from "../../model/lanes/event_text";
import { eventAt } from "../../model/lod/merged";
import { KINDS } from "../../model/wire/dataflow";
import { FEWEST_HOPS, MOST_HOPS, whyNoGraph } from "../../state/graph";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { isShortcut } from "../../ui/own_keys";
import { readTokens } from "../../ui/theme";
import { LowerPane } from "../parts/lower_pane";
import { Tooltip } from "../parts/tooltip";
import { Node, nodeSize } from "./node";

interface PaneProps {
  store: Store;
  actions: Actions;
  root: HTMLElement;
}

export function GraphPane(props: PaneProps) {
  const { store } = props;
  useTopics(store, ["selection", "details", "panel", "paint"]);
  return store.graphOpen && !(store.range && store.tableOpen) ? <Pane {...props} /> : null;
}

function Pane({ store, actions, root }: PaneProps) {
  const { selected, details, drawn, graphHops, graphFit } = store;
  const reason = whyNoGraph(store, selected);
  const around = useMemo(() => {
    if (selected === null || !details || reason) return null;
    return neighbourhood(linksOf(details), selected, graphHops, (event) => drawn.duration[event]);
  }, [selected, details, drawn, graphHops, reason]);
  const placed = useMemo(() => {
    const label = (edge: Parameters<typeof edgeLabel>[1]) => labelSize(edgeLabel(store, edge, around!.edges));
    return around && layoutGraph(around, (node) => nodeSize(store, node.event, selected!), label);
  }, [around]);
  const close = () => {
    store.setPanel({ graphOpen: false });
    actions.focusLanes();
  };
  const changeHops = (by: number) =>
    store.setPanel({ graphHops: Math.min(Math.max(graphHops + by, FEWEST_HOPS), MOST_HOPS) });
  const fit = () => store.setPanel({ graphFit: !graphFit });
  return (
    <LowerPane
      title="Graph"
      name="graph"
      close={close}
      header={
        <>
          {around && <Extent around={around} />}
          <span class="space" />
          {around && <Key around={around} />}
          {around && (
            <button
              type="button"
              class="fit"
              aria-label="Fit the graph"
              aria-pressed={graphFit}
              title="Fit the graph into the pane (0)"
              onClick={fit}
            >
              Fit
            </button>
          )}
          <div class="segmented hops" role="group" aria-label="Hops">
            <button
              type="button"
              aria-label="Fewer hops"
              disabled={graphHops <= FEWEST_HOPS}
              onClick={() => changeHops(-1)}
            >
              −
            </button>
            <span>{formatNumber(graphHops, "hop")}</span>
            <button
              type="button"
              aria-label="More hops"
              disabled={graphHops >= MOST_HOPS}
              onClick={() => changeHops(1)}
            >
              +
            </button>
          </div>
        </>
      }
    >
      {(pane) => (
        <>
          {placed ? (
            <Field
              {...{ store, actions, root, placed, close, changeHops, fit }}
              title={nameOf(drawn, selected!) || opOf(drawn, selected!)}
            />
          ) : (
            <p class="unlinked">{reason}</p>
          )}
          {pane && <Tooltip store={store} main={pane} isInGraph />}
        </>
      )}
    </LowerPane>
  );
}

function Extent({ around: { nodes, edges, leftOut } }: { around: Neighbourhood }) {
  return (
    <span class="extent" role="status">
      {formatNumber(nodes.length, "event")}, {formatNumber(edges.length, "edge")}
      {leftOut > 0 && (
        <b
          title={`${formatNumber(leftOut, "more edge")} within these hops: the graph shows at most ${MOST_PER_HOP} events a hop on each side, ${MOST_NODES} in all`}
        >
          {" "}
          +{formatCount(leftOut)} more
        </b>
      )}
    </span>
  );
}

/** Key to the kinds of lines that are drawn. */
function Key({ around: { edges } }: { around: Neighbourhood }) {
  return (
    <span class="graph-key" aria-hidden="true">
      {KINDS.filter((kind) => edges.some((edge) => edge.kind === kind)).map((kind) => (
        <span key={kind}>
          <svg width="22" height="8" data-kind={kind} role="presentation">
            <path d="M0,4H22" />
          </svg>
          {kind}
        </span>
      ))}
    </span>
  );
}

const DIRECTIONS: Record<string, Direction> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};

/** Letters of 11 px are 8 px high then. */
const LEAST_SCALE = 0.75;

interface FieldProps {
  store: Store;
  actions: Actions;
  /** The timeline's, whose letters are measured. */
  root: HTMLElement;
  placed: GraphLayout;
  /** Names the event in the middle. */
  title: string;
  close: () => void;
  changeHops: (by: number) => void;
  fit: () => void;
}

export function Field({ store, actions, root, placed, title, close, changeHops, fit }: FieldProps) {
  useTopics(store, ["hover"], () => store.hover?.id);
  const scroller = useRef<HTMLDivElement>(null);
  const middle = placed.nodes[0].event;
  const whole = useScale(scroller, placed, store.graphFit);
  const scale = Math.max(LEAST_SCALE, whole);
  useLayoutEffect(() => {
    if (whole < scale)
      actions.surroundings.hint("Whole, it would be too small to read: scroll, or drag the pane higher");
  }, [whole < scale]);
  const idOf = (event: number) => eventAt(store.drawn, event);
  // By event id, as places change where more of a large trace arrives.
  const [focused, setFocused] = useState(idOf(middle));
  const current = placed.nodes.find(({ event }) => idOf(event) === focused)?.event ?? middle;
  const option = (event: number) =>
    scroller.current?.querySelector<HTMLElement>(`[data-event="${idOf(event)}"]`) ?? null;
  const go = (event: number) => {
    setFocused(idOf(event));
    option(event)?.focus({ preventScroll: true });
    bringIntoView(scroller.current!, option(event)!);
  };
  // Whatever is selected, here or elsewhere, is in the middle.
  useLayoutEffect(() => {
    setFocused(idOf(middle));
    const element = option(middle)!;
    putInMiddle(scroller.current!, element);
    if (scroller.current!.contains(activeIn(element))) element.focus({ preventScroll: true });
  }, [placed]);
  useLayoutEffect(() => putInMiddle(scroller.current!, option(current)!), [scale]);
  useLayoutEffect(() => option(middle)?.focus({ preventScroll: true }), []);
  const press = (event: KeyboardEvent) => {
    if (isShortcut(event)) return;
    const direction = DIRECTIONS[event.key];
    const next = direction && walk(placed, current, direction);
    if (typeof next === "number") go(next);
    else if (event.key === "Enter" || event.key === " ") actions.visit(current);
    else if (event.key === "+" || event.key === "=") changeHops(1);
    else if (event.key === "-") changeHops(-1);
    else if (event.key === "0") fit();
    else if (event.key === "Escape" || event.code === "KeyG") close();
    else if (!direction) return;
    event.preventDefault();
    event.stopPropagation();
  };
  const widthOf = useMemo(() => measurer(`11px ${readTokens(root).font}`), [root]);
  const longest = Math.max(...placed.nodes.map(({ event }) => store.drawn.duration[event]), 1);
  return (
    <div class="graph-scroll" ref={scroller}>
      <div class="graph-frame" style={sizeOf(placed, scale)}>
        <div
          class="graph-field"
          role="listbox"
          aria-label={`Producers and consumers of ${isolated(title)}`}
          tabIndex={-1}
          style={{ ...sizeOf(placed), transform: `scale(${scale})` }}
          onKeyDown={press}
        >
          <Edges {...{ store, placed }} highlighted={store.hover?.id ?? current} />
          {placed.nodes.map((node) => (
            <Node
              key={idOf(node.event)}
              {...{ store, actions, node, middle, longest, widthOf }}
              edges={placed.edges}
              isFocusable={node.event === current}
              focus={() => setFocused(idOf(node.event))}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

/** How much smaller a graph would be, to be seen whole. */
function useScale(scroller: RefObject<HTMLElement | null>, { width, height }: Size, isFit: boolean): number {
  const [room, setRoom] = useState<Size | null>(null);
  useLayoutEffect(() => {
    const box = scroller.current!;
    // With the scrollbars, which come and go with the scale.
    const measure = () => setRoom({ width: box.offsetWidth, height: box.offsetHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  if (!isFit || !room) return 1;
  return Math.min(1, room.width / width, room.height / height);
}

function sizeOf({ width, height }: Size, scale = 1) {
  return { width: `${Math.floor(width * scale)}px`, height: `${Math.floor(height * scale)}px` };
}

/** The position of an element in the scrolled content of a box. */
function spanIn(box: HTMLElement, element: HTMLElement) {
  const [outer, { left, top, width, height }] = [
    box.getBoundingClientRect(),
    element.getBoundingClientRect(),
  ];
  return { left: left - outer.left + box.scrollLeft, top: top - outer.top + box.scrollTop, width, height };
}

/** Measures texts in the largest letters of a node. */
function measurer(font: string): (text: string) => number {
  const context = document.createElement("canvas").getContext("2d");
  if (context) context.font = font;
  const widths = new Map<string, number>();
  return (text) => {
    const width = widths.get(text) ?? context?.measureText(text).width ?? 0;
    widths.set(text, width);
    return width;
  };
}

function activeIn(element: HTMLElement): Element | null {
  const root = element.getRootNode();
  return root instanceof ShadowRoot ? root.activeElement : document.activeElement;
}

function putInMiddle(box: HTMLElement, element: HTMLElement): void {
  const { left, top, width, height } = spanIn(box, element);
  box.scrollLeft = left + (width - box.clientWidth) / 2;
  box.scrollTop = top + (height - box.clientHeight) / 2;
}

/** Scrolls no more than needed, and nothing but `box`. */
function bringIntoView(box: HTMLElement, element: HTMLElement): void {
  const margin = 24;
  const { left, top, width, height } = spanIn(box, element);
  box.scrollLeft = Math.min(Math.max(box.scrollLeft, left + width + margin - box.clientWidth), left - margin);
  box.scrollTop = Math.min(Math.max(box.scrollTop, top + height + margin - box.clientHeight), top - margin);
}

/** Width of a character, height of a label's line. */
const LETTER_PX = 6.2;
const LINE_PX = 14;
/** More edges are thin, so that fans are not one black line. */
const FEW = 30;

/**
 * The moved bytes: on the edge into a transfer or copy, or if none of `edges` leads into it, on the edges that
 * lead away; "" on others.
 */
function edgeLabel(
  { drawn, details }: Store,
  { source, target, kind }: GraphEdge,
  edges: readonly GraphEdge[],
): string {
  const isFirst = (event: number) => !edges.some((edge) => edge.target === event && edge.kind === "transfer");
  const moved = moves(drawn, target) ? target : moves(drawn, source) && isFirst(source) ? source : null;
  const bytes = moved === null || kind !== "transfer" ? null : (details?.bytes(moved) ?? null);
  return bytes === null ? "" : formatBytes(bytes);
}

function labelSize(label: string): Size | null {
  return label ? { width: label.length * LETTER_PX + 8, height: LINE_PX } : null;
}

interface EdgesProps {
  store: Store;
  placed: GraphLayout;
  /** The event whose lines stand out. */
  highlighted: number;
}

function Edges({ store, placed, highlighted }: EdgesProps) {
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
