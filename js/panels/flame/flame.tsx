/** The flame graph of a tab, and what chooses which one is shown. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LinkMessage, RangeFigures } from "../../host/channel";
import { formatBytes, formatDuration, formatNumber, formatPercent } from "../../model/format/units";
import { mix, parseColour, toHex } from "../../model/paint/colour";
import { activityColour, readable, shadesOf, type Theme } from "../../model/paint/palette";
import type { FlameBlock } from "../../model/wire/schema";
import { digitlessHash } from "../../model/wire/string_table";
import { BlockHead, CannotSay } from "../../ui/block_head";
import {
  bottomUp,
  eventsBefore,
  eventsIn,
  type Frame,
  goneIn,
  hasEvents,
  hasSteps,
  search,
  topDown,
  within,
} from "./tree";

const FRAMES = { scope: "Name scopes", layer: "Layers", stack: "Lines of code", thread: "Lanes" } as const;
const SIDES = { device: "Device time", host: "Host time" } as const;
/** Changes by their ratio B / A: colours are full at half and at twice. */
const CHANGES = [
  [0.5, "half of A or less"],
  [1, "as in A"],
  [2, "twice A or more, or only in B"],
] as const;
const MOST_GONE = 50;

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
    // In a comparison, they can be of either side.
    if (!selected.length || graph?.base) return;
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
  const { base } = graph;
  const format = graph.side === "memory" ? formatBytes : formatDuration;
  const gone = root ? goneIn(root) : [];
  const show = (frame: Frame) => {
    setZoomed(frame.id);
    setCurrent(frame.id);
    if (!frame.parent) return;
    const events = eventsIn(frame);
    publish({ kind: "select", ...(base ? { sides: [eventsBefore(frame), events] } : { events }) });
  };
  return (
    <section class="block flame">
      <BlockHead title={block.title} definition={block.definition} />
      <div class="flame-tools">
        {graphs.length > 1 && (
          <>
            <Choice label="Frames" names={FRAMES} value={graph.by} pick={(by) => pick(by, graph.side)} />
            <Choice label="Time" names={SIDES} value={graph.side} pick={(side) => pick(graph.by, side)} />
          </>
        )}
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
      {base && (
        <p class="step-legend">
          {CHANGES.map(([ratio, text]) => (
            <span key={text}>
              <i class="swatch" style={themed(changeShades(ratio))} />
              {text}
            </span>
          ))}
        </p>
      )}
      {root?.total ? (
        <Boxes
          {...{
            root,
            publish,
            show,
            isInverted,
            isChange: base !== undefined,
            found: found?.found ?? null,
            current,
            setCurrent,
            format,
          }}
          zoomed={frames.get(zoomed) ?? root}
          zoomOut={() => setZoomed("")}
        />
      ) : (
        <CannotSay
          reason={graph.cannot_say || `${base ? "B" : among ? "the range" : "the step"} has no such time`}
        />
      )}
      {gone.length > 0 && (
        <details class="more">
          <summary>{formatNumber(gone.length, "frame")} only in A</summary>
          <ul>
            {gone.slice(0, MOST_GONE).map(({ id, path, before }) => (
              <li key={id}>{`${path.join(" › ")}: ${format(before.total)}`}</li>
            ))}
          </ul>
        </details>
      )}
      {among && root && root.total > 0 && (
        <p class="more">
          {hasEvents(graph)
            ? `The graph covers the selected range: ${formatNumber(among.size, "event")}, each with its full time.`
            : `The graph has too many events to show a range; it covers the whole ${step === null ? "trace" : "step"}.`}
        </p>
      )}
      {step !== null && !graph.cannot_say && !hasSteps(graph) && (
        <p class="more">
          {base ? "The graph" : "The graph has too many frames to show one step; it"} covers all steps.
        </p>
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

const ROW_PX = 20;
/** A label in less room could not be read. */
const LEAST_LABEL_PX = 24;

interface BoxesProps {
  root: Frame;
  format: (value: number) => string;
  isInverted: boolean;
  /** Whether it shows a difference. */
  isChange: boolean;
  zoomed: Frame;
  /** Frames that a search has found; null without one. */
  found: ReadonlySet<Frame> | null;
  /** The frame with the focus, or of the selected event. */
  current: string;
  setCurrent: (id: string) => void;
  show: (frame: Frame) => void;
  zoomOut: () => void;
  publish: (message: LinkMessage) => void;
}

function Boxes(props: BoxesProps) {
  const { root, isChange, format, zoomed, found, current, setCurrent, show, zoomOut, publish } = props;
  const element = useRef<HTMLDivElement>(null);
  const info = useRef<HTMLParagraphElement>(null);
  const [width, setWidth] = useState(1000);
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setWidth(entry.contentRect.width || 1000));
    if (element.current) watcher.observe(element.current);
    return () => watcher.disconnect();
  }, []);
  const boxes = useMemo(() => layOut(zoomed, width), [zoomed, width]);
  const stop = Math.max(
    boxes.findIndex(({ frame }) => frame.id === current),
    0,
  );
  useLayoutEffect(() => {
    if (info.current) info.current.textContent = figures(boxes[stop]);
  }, [root]);
  const figures = (box: Box) => figuresOf(box, props);
  const onKeyDown = (event: KeyboardEvent) => {
    const at = Number((event.target as HTMLElement).dataset.box ?? stop);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") zoomOut();
    else if (event.key.startsWith("Arrow")) {
      const next = neighbour(boxes, at, event.key);
      setCurrent(boxes[next].frame.id);
      element.current?.querySelector<HTMLElement>(`[data-box="${next}"]`)?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const say = (box: Box) => {
    // This does not redraw: a pointer passes many frames a second.
    if (info.current) info.current.textContent = `${pathOf(box)}: ${figures(box)}`;
    publish({ kind: "hover", name: box.merged > 1 ? null : box.frame.name });
  };
  return (
    <>
      <div
        class="flame-rows"
        role="group"
        aria-label="Frames"
        ref={element}
        style={{ height: `${ROW_PX * (1 + Math.max(...boxes.map(({ row }) => row)))}px` }}
        onKeyDown={onKeyDown}
        onPointerLeave={() => publish({ kind: "hover", name: null })}
      >
        {boxes.map((box, at) => (
          <button
            key={box.frame.id}
            type="button"
            data-box={at}
            data-light={box.merged > 1 ? undefined : (box.frame.name ?? undefined)}
            data-dimmed={(found && !found.has(box.frame)) || undefined}
            aria-current={box.frame.id === current || undefined}
            aria-label={`${labelOf(box)}: ${figures(box)}`}
            tabIndex={at === stop ? 0 : -1}
            style={{
              left: `${100 * box.x}%`,
              top: `${ROW_PX * box.row}px`,
              width: `max(${100 * box.width}% - 1px, 1px)`,
              ...themed(isChange ? changeShades(ratioOf(box)) : shades(box.frame)),
            }}
            onClick={() => show(box.merged > 1 ? (box.frame.parent ?? box.frame) : box.frame)}
            onPointerEnter={() => say(box)}
            onFocus={() => say(box)}
          >
            {box.width * width >= LEAST_LABEL_PX &&
              `${labelOf(box)}${isChange ? ` ${changeOf(box, format)}` : ""}`}
          </button>
        ))}
      </div>
      <p class="flame-info" ref={info} aria-hidden="true" />
    </>
  );
}

function labelOf({ frame, merged }: Box): string {
  return merged > 1 ? `${merged} smaller frames` : frame.parent ? frame.label : "All";
}

function pathOf(box: Box): string {
  return [...box.frame.path.slice(0, -1), labelOf(box)].join(" › ");
}

/** The total and self time of a box, and its total in A. */
function sumsOf({ frame, merged }: Box): { total: number; self: number; before: number } {
  const siblings = frame.parent?.children ?? [];
  const all = merged > 1 ? siblings.slice(siblings.indexOf(frame)) : [frame];
  const sum = (of: (each: Frame) => number) => all.reduce((total, each) => total + of(each), 0);
  return {
    total: sum((each) => each.total),
    self: sum((each) => each.self),
    before: sum((each) => each.before.total),
  };
}

function figuresOf(box: Box, { root, isInverted, isChange, format }: BoxesProps): string {
  const { total, self, before } = sumsOf(box);
  const own = isInverted ? "" : `, ${format(self)} of its own`;
  const figures = `${format(total)}, ${formatPercent(total / root.total)}${own}`;
  return isChange ? `A ${format(before)}, B ${figures}; change ${changeOf(box, format)}` : figures;
}

function changeOf(box: Box, format: BoxesProps["format"]): string {
  const { total, before } = sumsOf(box);
  return `${total > before ? "+" : ""}${format(total - before)}`;
}

function ratioOf(box: Box): number {
  const { total, before } = sumsOf(box);
  return total / before;
}

/** A colour and that of its text. */
type Shades = (theme: Theme) => [string, string];

function shades({ colour, label }: Frame): Shades {
  return (theme) => {
    const all = shadesOf(colour || "host", theme);
    return [all[digitlessHash(label) % all.length], readable(all)];
  };
}

function changeShades(ratio: number): Shades {
  return (theme) => {
    const [none, full] = ["others", ratio > 1 ? "slower" : "faster"].map((name) =>
      parseColour(activityColour(name, theme)),
    );
    const colour = toHex(mix(none, full, Math.min(Math.abs(Math.log2(ratio)), 1)));
    return [colour, readable([colour])];
  };
}

function themed(of: Shades): { background: string; color: string } {
  const [light, dark] = [of("light"), of("dark")];
  return { background: `light-dark(${light[0]}, ${dark[0]})`, color: `light-dark(${light[1]}, ${dark[1]})` };
}

/** A rectangle in a row; x and width from 0 to 1. */
interface Box {
  frame: Frame;
  /** 0 at the root or the enlarged frame. */
  row: number;
  x: number;
  width: number;
  /** The number of frames it stands for; `frame` is the first. None of them has boxes below. */
  merged: number;
}

const LEAST_PIXELS = 0.5;

/** Lays out a frame at full width below its callers, and its callees below it, each as wide as its share. */
export function layOut(zoomed: Frame, pixels: number): Box[] {
  const boxes: Box[] = [];
  for (let outer: Frame | null = zoomed; outer; outer = outer.parent)
    boxes.unshift({ frame: outer, row: 0, x: 0, width: 1, merged: 1 });
  for (const [row, box] of boxes.entries()) box.row = row;
  const least = LEAST_PIXELS / pixels;
  const todo = [boxes[boxes.length - 1]];
  for (const { frame, row, x, width } of todo) {
    let from = x;
    for (const [at, child] of frame.children.entries()) {
      const share = (child.total / frame.total) * width;
      const box = { frame: child, row: row + 1, x: from, width: share, merged: 1 };
      if (share < least) {
        // The rest is smaller still.
        box.merged = frame.children.length - at;
        box.width = frame.children.slice(at).reduce((sum, { total }) => sum + total, 0);
        box.width *= width / frame.total;
        if (box.width >= least) boxes.push(box);
        break;
      }
      boxes.push(box);
      todo.push(box);
      from += share;
    }
  }
  return boxes;
}

/** The box that an arrow key leads to: up and down among callers, left and right among those of a row. */
export function neighbour(boxes: readonly Box[], at: number, key: string): number {
  const { frame, row, x } = boxes[at];
  if (key === "ArrowUp")
    return Math.max(
      boxes.findIndex((box) => box.frame === frame.parent),
      0,
    );
  if (key === "ArrowDown") {
    const below = boxes.findIndex((box) => box.row === row + 1 && box.x >= x && box.frame.parent === frame);
    return below < 0 ? at : below;
  }
  const others = [...boxes.keys()].filter((other) => boxes[other].row === row);
  const next = others.indexOf(at) + (key === "ArrowRight" ? 1 : -1);
  return others[Math.min(Math.max(next, 0), others.length - 1)];
}
