/** The pane below the lanes with the graph around the selected event. */

import { useMemo } from "preact/hooks";
import type { Actions } from "../../input/actions";
import { formatCount, formatNumber } from "../../model/format/units";
import { layoutGraph } from "../../model/graph/layout";
import {
  linksOf,
  MOST_NODES,
  MOST_PER_HOP,
  type Neighbourhood,
  neighbourhood,
} from "../../model/graph/neighbourhood";
import { nameOf, opOf } from "../../model/lanes/event_text";
import { KINDS } from "../../model/wire/dataflow";
import { FEWEST_HOPS, MOST_HOPS, whyNoGraph } from "../../state/graph";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { LowerPane } from "../parts/lower_pane";
import { Tooltip } from "../parts/tooltip";
import { edgeLabel, labelSize } from "./edges";
import { Field } from "./field";
import { nodeSize } from "./node";

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
