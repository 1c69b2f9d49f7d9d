/** The flame graph of a tab, and what chooses which one is shown. */

import { useEffect, useMemo, useState } from "preact/hooks";
import type { LinkMessage, RangeFigures } from "../../host/channel";
import { formatNumber, formatPercent } from "../../model/format/units";
import type { FlameBlock } from "../../model/wire/schema";
import { BlockHead, CannotSay } from "../../ui/block_head";
import { Boxes } from "./boxes";
import { bottomUp, eventsIn, type Frame, hasEvents, hasSteps, search, topDown, within } from "./tree";

const FRAMES = { scope: "Name scopes", layer: "Layers", stack: "Lines of code", thread: "Lanes" } as const;
const SIDES = { device: "Device time", host: "Host time" } as const;

interface FlameProps {
  block: FlameBlock;
  /** The number of the step shown alone in the timeline. */
  step: number | null;
  /** The range selected there; null without one. */
  inRange: RangeFigures | null;
  /** The events selected there. */
  selected: readonly number[];
  publish: (message: LinkMessage) => void;
}

export function Flame({ block, step, inRange, selected, publish }: FlameProps) {
  const { graphs } = block;
  const [chosen, setChosen] = useState(
    Math.max(
      graphs.findIndex((graph) => !graph.cannot_say),
      0,
    ),
  );
  const [isInverted, setInverted] = useState(false);
  const [text, setText] = useState("");
  const [zoomed, setZoomed] = useState("");
  const [current, setCurrent] = useState("");
  const graph = graphs[chosen];
  const among = useMemo(() => inRange?.events && new Set(Array.from(inRange.events)), [inRange]);
  const down = useMemo(
    () => (graph && !graph.cannot_say ? topDown(graph, step, among || null) : null),
    [graph, step, among],
  );
  const root = useMemo(() => (down && isInverted ? bottomUp(down) : down), [down, isInverted]);
  const frames = useMemo(() => new Map(root ? within(root).map((each) => [each.id, each]) : []), [root]);
  const found = useMemo(() => (root && text ? search(root, text) : null), [root, text]);
  useEffect(() => {
    if (!selected.length) return;
    const frame = [...frames.values()].find(
      ({ events }) => events.includes(selected[0]) && selected.every((event) => events.includes(event)),
    );
    if (!frame) return;
    setCurrent(frame.id);
    const enlarged = frames.get(zoomed);
    if (enlarged && !within(enlarged).includes(frame)) setZoomed("");
  }, [selected, frames]);
  const other = (change: () => void) => {
    change();
    setZoomed("");
    setCurrent("");
  };
  const pick = (by: string, side: string) => {
    const next = graphs.findIndex((each) => each.by === by && each.side === side);
    other(() => setChosen(next));
  };
  if (block.cannot_say || !graph)
    return (
      <section class="block flame">
        <BlockHead title={block.title} definition={block.definition} />
        <CannotSay reason={block.cannot_say} />
      </section>
    );
  const show = (frame: Frame) => {
    setZoomed(frame.id);
    setCurrent(frame.id);
    if (frame.parent) publish({ kind: "select", events: eventsIn(frame) });
  };
  return (
    <section class="block flame">
      <BlockHead title={block.title} definition={block.definition} />
      <div class="flame-tools">
        <Choice label="Frames" names={FRAMES} value={graph.by} pick={(by) => pick(by, graph.side)} />
        <Choice label="Time" names={SIDES} value={graph.side} pick={(side) => pick(graph.by, side)} />
        <Choice
          label="Direction"
          names={{ down: "Top-down", up: "Bottom-up" }}
          value={isInverted ? "up" : "down"}
          pick={(way) => other(() => setInverted(way === "up"))}
        />
        <input
          type="search"
          class="field"
          placeholder="Search frames"
          aria-label="Search frames"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <span role="status">
          {found &&
            root &&
            `${formatNumber(found.found.size, "frame")}, ${formatPercent(found.total / (root.total || 1))}`}
        </span>
      </div>
      {root?.total ? (
        <Boxes
          {...{ root, publish, show, isInverted, found: found?.found ?? null, current, setCurrent }}
          zoomed={frames.get(zoomed) ?? root}
          zoomOut={() => setZoomed("")}
        />
      ) : (
        <CannotSay reason={graph.cannot_say || `the ${among ? "range" : "step"} has no such time`} />
      )}
      {among && root && root.total > 0 && (
        <p class="more">
          {hasEvents(graph)
            ? `The graph covers the selected range: ${formatNumber(among.size, "event")}, each with its full time.`
            : `The graph has too many events to show a range; it covers the whole ${step === null ? "trace" : "step"}.`}
        </p>
      )}
      {step !== null && !graph.cannot_say && !hasSteps(graph) && (
        <p class="more">The graph has too many frames to show one step; it covers all steps.</p>
      )}
    </section>
  );
}

interface ChoiceProps {
  label: string;
  names: Record<string, string>;
  value: string;
  pick: (value: string) => void;
}

function Choice({ label, names, value, pick }: ChoiceProps) {
  return (
    <select aria-label={label} value={value} onChange={(event) => pick(event.currentTarget.value)}>
      {Object.entries(names).map(([key, name]) => (
        <option key={key} value={key}>
          {name}
        </option>
      ))}
    </select>
  );
}
