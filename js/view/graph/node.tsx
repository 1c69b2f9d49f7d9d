/** One event of a graph. */

import type { Actions } from "../../input/actions";
import { isolated, withoutControls } from "../../model/format/bidi";
import { cutMiddle } from "../../model/format/shorten";
import { formatCount, formatDuration, formatNumber } from "../../model/format/units";
import type { PlacedNode, Size } from "../../model/graph/layout";
import type { GraphEdge } from "../../model/graph/neighbourhood";
import { kindOf, locationOf, nameOf, opOf, shortName } from "../../model/lanes/event_text";
import { deviceLocation, NO_NAME, taskLabel } from "../../model/lanes/labels";
import { eventAt } from "../../model/lod/merged";
import type { Store } from "../../state/store";

const WIDTH_PX = 156;
const HEIGHT_PX = 40;
/** Extra height for a line about another device. */
const PLACE_PX = 15;
/** Room next to the texts of a node, and between those of one line. */
const BESIDE_PX = 19;
const BETWEEN_PX = 8;

/** Where an event ran, if that is not where the event in the middle did; "" otherwise. */
function otherPlace({ drawn }: Store, event: number, middle: number): string {
  const [lane, own] = [drawn.lanes[drawn.lane[event]], drawn.lanes[drawn.lane[middle]]];
  if (lane.task === own.task && lane.device === own.device) return "";
  return deviceLocation(lane.device) || taskLabel(lane.task) || lane.device || lane.task;
}

export function nodeSize(store: Store, event: number, middle: number): Size {
  return { width: WIDTH_PX, height: HEIGHT_PX + (otherPlace(store, event, middle) ? PLACE_PX : 0) };
}

interface NodeProps {
  store: Store;
  actions: Actions;
  node: PlacedNode;
  middle: number;
  /** The longest duration in the graph (ns). */
  longest: number;
  edges: readonly GraphEdge[];
  /** The width of a text as a node has it (CSS px). */
  widthOf: (text: string) => number;
  isFocusable: boolean;
  focus: () => void;
}

export function Node({
  store,
  actions,
  node,
  middle,
  longest,
  edges,
  widthOf,
  isFocusable,
  focus,
}: NodeProps) {
  const { event, hop, x, y, width, height, hiddenInputs, hiddenConsumers } = node;
  const { drawn, painting } = store;
  const name = nameOf(drawn, event) || opOf(drawn, event) || NO_NAME;
  const kind = kindOf(drawn, event);
  // A kernel has the op type of the op that launched it.
  const op = [opOf(drawn, event), kind === "kernel" && kind].filter(Boolean).join(" ") || kind;
  const place = otherPlace(store, event, middle);
  const duration = formatDuration(drawn.duration[event]);
  const room = width - BESIDE_PX;
  const id = (other: number) => `tfv-graph-${eventAt(drawn, other)}`;
  const targets = edges.filter(({ source }) => source === event).map(({ target }) => id(target));
  const hidden = [
    hiddenInputs > 0 && `${formatNumber(hiddenInputs, "more producer")}`,
    hiddenConsumers > 0 && `${formatNumber(hiddenConsumers, "more consumer")}`,
  ].filter(Boolean);
  const said = [isolated(name), isolated(op), duration, locationOf(drawn, event), roleOf(hop), ...hidden];
  return (
    <div
      class="graph-node"
      role="option"
      id={id(event)}
      data-event={eventAt(drawn, event)}
      data-elsewhere={place ? "" : undefined}
      aria-selected={event === middle}
      aria-flowto={targets.length ? targets.join(" ") : undefined}
      tabIndex={isFocusable ? 0 : -1}
      style={{
        left: `${x - width / 2}px`,
        top: `${y - height / 2}px`,
        width: `${width}px`,
        height: `${height}px`,
        "--colour": painting.paints.css[(painting.paints.colour[event] ?? 0) & 127],
      }}
      onClick={() => actions.visit(event)}
      onKeyDown={(press) => {
        if (press.key !== "Enter" && press.key !== " ") return;
        actions.visit(event);
        press.preventDefault();
      }}
      onFocus={focus}
      onPointerMove={(at) => at.pointerType === "mouse" && pointAt(store, event, at)}
      onPointerLeave={() => store.setHover(null, null)}
    >
      <span class="visually-hidden">{said.join(", ")}</span>
      <b aria-hidden="true">{fitted([name, shortName(name)], room, widthOf)}</b>
      <span aria-hidden="true">
        <span>{fitted([op], room - widthOf(duration) - BETWEEN_PX, widthOf)}</span>{" "}
        <strong>{duration}</strong>
      </span>
      {place && <em aria-hidden="true">{fitted([place], room, widthOf)}</em>}
      <i style={{ width: `${(100 * drawn.duration[event]) / longest}%` }} />
      {hiddenInputs > 0 && (
        <small class="before" aria-hidden="true">
          +{formatCount(hiddenInputs)}
        </small>
      )}
      {hiddenConsumers > 0 && (
        <small class="after" aria-hidden="true">
          +{formatCount(hiddenConsumers)}
        </small>
      )}
    </div>
  );
}

/** Shows the tooltip of an event next to the pointer. */
function pointAt(store: Store, id: number, at: PointerEvent): void {
  const box = (at.currentTarget as HTMLElement).closest(".graph")!.getBoundingClientRect();
  store.setHover({ id, count: 1, x: at.clientX - box.left, y: at.clientY - box.top, isInGraph: true }, null);
}

/** The first text that fits into `room` (CSS px); else the last one without its middle. */
function fitted(texts: readonly string[], room: number, widthOf: (text: string) => number): string {
  const plain = texts.map(withoutControls);
  // Long names are not measured: they do not fit.
  const whole = plain.find((text) => text.length < room && widthOf(text) <= room);
  if (whole !== undefined) return whole;
  const last = plain[plain.length - 1];
  for (let columns = Math.min(last.length - 1, Math.floor(room / 3)); columns > 2; columns--) {
    const text = cutMiddle(last, columns);
    if (widthOf(text) <= room) return text;
  }
  return "…";
}

function roleOf(hop: number): string {
  if (hop === 0) return "the selected event";
  return `${hop < 0 ? "producer" : "consumer"}, ${formatNumber(Math.abs(hop), "hop")} away`;
}
