/** The heat map as one canvas that answers to pointer and keyboard. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Cell, cellText, type Grid, type Metric, type Values, valueText } from "../model/fleet/grid";
import type { Range } from "../model/fleet/pixels";
import { colours, type Scale, scaleOf } from "../model/fleet/scale";
import { type Spread, sortedValues } from "../model/fleet/spread";
import { isShortcut } from "../ui/own_keys";
import { readTokens } from "../ui/theme";
import { draw } from "./draw";
import { cellAt, columnAt, type Geometry, geometryOf } from "./geometry";
import { type Picture, pictureOf } from "./picture";
import { between, showing } from "./range";

interface HeatMapProps {
  grid: Grid;
  metric: Metric;
  values: Values;
  scale: Scale;
  /** Over the tasks of each step, and over the steps of each task. */
  spreads: { bySteps: Spread[]; byTasks: Spread[] };
  /** The typical time of each step. */
  typical: Float64Array;
  /** The theme, or whatever else changes with it. */
  theme: string;
  cell: Cell | null;
  range: Range;
  since: number | null;
  /** Another cell is current. */
  choose: (cell: Cell) => void;
  show: (range: Range) => void;
  open: (cell: Cell) => void;
}

const MOST_LABEL = 130;
/** A pointer that moves less (CSS px) clicks. */
const DRAG_PX = 5;
const TIP_GAP = 14;
/** The room for values beyond the usual ones, as a part of theirs. */
const BEYOND = 0.25;
const HINT =
  "Arrow keys move to another step or task, Enter opens its timeline. Plus and minus zoom, 0 shows all steps. " +
  "The table shows the same figures.";

export function HeatMap(props: HeatMapProps) {
  const { grid, metric, values, scale, spreads, typical, theme, cell, range, since, choose, show, open } =
    props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [hovered, setHovered] = useState<{ cell: Cell; x: number; y: number } | null>(null);
  const [dragged, setDragged] = useState<[number, number] | null>(null);
  const pressed = useRef<{ x: number; column: number } | null>(null);
  const drawn = useRef<{ picture: Picture; geometry: Geometry } | null>(null);
  useEffect(() => {
    const element = box.current!;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const extent = useMemo(() => extentOf(spreads.bySteps), [spreads]);
  const geometry = useMemo(
    () => (width > 0 ? geometryOf(grid, width, labelWidth(grid, canvas.current)) : null),
    [grid, width],
  );
  const look = useMemo(() => {
    if (!geometry || !box.current) return null;
    const tokens = readTokens(box.current.closest<HTMLElement>("[data-theme]")!);
    return { tokens, ratio: window.devicePixelRatio || 1, colours: colours(tokens.theme) };
  }, [geometry, theme]);
  const picture = useMemo(
    () =>
      geometry && look
        ? pictureOf(grid, values, scale, range, geometry, {
            ...look,
            ground: look.tokens.ground,
            nothing: look.tokens.line,
          })
        : null,
    [grid, values, scale, range, geometry, look],
  );
  useEffect(() => {
    const context = canvas.current?.getContext("2d", { alpha: false, willReadFrequently: true });
    if (!geometry || !look || !picture || !context) return;
    drawn.current = { picture, geometry };
    // Tests find cells by it: no locator finds a place on a canvas.
    const { x, y, width, height } = geometry.plot;
    context.canvas.dataset.plot = `${x} ${y} ${width} ${height}`;
    const { element, size } = { element: context.canvas, size: [geometry.width, geometry.height] };
    const [wide, high] = size.map((css) => Math.round(css * look.ratio));
    if (element.width !== wide || element.height !== high) {
      element.width = wide;
      element.height = high;
    }
    const marks = { cell, hovered: hovered?.cell ?? null, dragged, since };
    draw(
      context,
      { grid, metric, range, geometry, picture, ...look, ...spreads, extent, ...marks },
      look.ratio,
    );
  });
  const place = (event: PointerEvent): [number, number] => {
    const { left, top } = box.current!.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  };
  const under = (event: PointerEvent): Cell | null =>
    drawn.current &&
    cellAt(drawn.current.geometry, grid, range, drawn.current.picture.cells, ...place(event));
  const move = (event: PointerEvent) => {
    const [x, y] = place(event);
    if (pressed.current && geometry && Math.abs(x - pressed.current.x) >= DRAG_PX) {
      setHovered(null);
      setDragged([pressed.current.column, columnAt(geometry, range, x)]);
      return;
    }
    if (dragged) return;
    const found = under(event);
    setHovered(found && { cell: found, x, y });
  };
  const down = (event: PointerEvent) => {
    if (event.button !== 0 || !geometry || !under(event)) return;
    const [x] = place(event);
    pressed.current = { x, column: columnAt(geometry, range, x) };
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
  };
  const up = (event: PointerEvent) => {
    const found = pressed.current && !dragged ? under(event) : null;
    if (pressed.current && dragged) show(between(...dragged, grid.step.length));
    pressed.current = null;
    setDragged(null);
    if (!found) return;
    choose(found);
    open(found);
  };
  const key = (event: KeyboardEvent) => {
    if (isShortcut(event)) return;
    const steps = grid.step.length;
    const here = cell ?? largestOf(spreads.byTasks);
    const next =
      cell === null && KEYS.has(event.key) ? here : moved(event.key, here, grid.tasks.length, range, steps);
    if (next) {
      choose(next);
      show(showing(range, next.column, steps));
    } else if (event.key === "Enter" || event.key === " ") open(here);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const numberOf = ({ task, column }: Cell) => task * grid.step.length + column;
  const textOf = (one: Cell) => valueText(metric, values[numberOf(one)], typical[one.column]);
  const counts = `${grid.tasks.length} tasks, ${grid.step.length} steps`;
  return (
    <div class="heat-map" ref={box} style={geometry ? { height: `${geometry.height}px` } : undefined}>
      <div
        class="cells"
        role="slider"
        aria-roledescription="heat map"
        aria-label={`${metric.label}: ${counts}`}
        aria-valuemin={0}
        aria-valuemax={values.length - 1}
        aria-valuenow={cell ? numberOf(cell) : 0}
        aria-valuetext={cell ? `${cellText(grid, cell)}: ${textOf(cell)}` : "No cell chosen"}
        aria-description={HINT}
        tabIndex={0}
        onKeyDown={key}
        onPointerMove={move}
        onPointerDown={down}
        onPointerUp={up}
        onPointerLeave={() => setHovered(null)}
        onLostPointerCapture={() => {
          pressed.current = null;
          setDragged(null);
        }}
        style={hovered ? { cursor: "pointer" } : undefined}
      >
        <canvas ref={canvas} />
      </div>
      {hovered && !dragged && geometry && (
        <div class="cell-tip" aria-hidden="true" style={tipPlace(hovered, geometry)}>
          <strong>{cellText(grid, hovered.cell)}</strong>
          <span>{textOf(hovered.cell)}</span>
        </div>
      )}
    </div>
  );
}

/** From the smallest low end of a step's spread to the largest value, or to a little beyond where few begin. */
function extentOf(bySteps: readonly Spread[]): [number, number] {
  const tops = scaleOf(sortedValues(Float64Array.from(bySteps, ({ most }) => most)));
  if (!tops) return [0, 0];
  const least = bySteps.reduce((least, { count, low }) => (count ? Math.min(least, low) : least), tops.most);
  return [least, tops.most > tops.high ? tops.high + (tops.high - least) * BEYOND : tops.most];
}

/** The cell with the largest value, where the keyboard starts. */
export function largestOf(byTasks: readonly Spread[]): Cell {
  const task = byTasks.reduce(
    (best, { most }, at) => (most > byTasks[best].most || Number.isNaN(byTasks[best].most) ? at : best),
    0,
  );
  return { task, column: Math.max(byTasks[task].largest, 0) };
}

function labelWidth({ tasks }: Grid, canvas: HTMLCanvasElement | null): number {
  const context = canvas?.getContext("2d");
  if (!context || !canvas) return MOST_LABEL;
  context.font = `11px ${getComputedStyle(canvas).fontFamily}`;
  const longest = tasks.reduce((most, name) => Math.max(most, context.measureText(name).width), 48);
  return Math.min(Math.ceil(longest), MOST_LABEL);
}

/** Beside the pointer, on the side with room. */
function tipPlace({ x, y }: { x: number; y: number }, { width }: Geometry): Record<string, string> {
  const side = x < width / 2 ? { left: `${x + TIP_GAP}px` } : { right: `${width - x + TIP_GAP}px` };
  return { ...side, top: `${y + TIP_GAP}px` };
}

/** Page keys move by this part of the steps in view. */
const PAGE = 0.1;

/** Keys that move the current cell. */
const KEYS: ReadonlySet<string> = new Set([
  ...["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"],
  ...["PageUp", "PageDown", "Home", "End"],
]);

/** The cell to which a key moves from another one; null if it moves nowhere. */
function moved(key: string, from: Cell, tasks: number, range: Range, steps: number): Cell | null {
  const page = Math.max(1, Math.round((range.to - range.from) * PAGE));
  const by: Record<string, [number, number]> = {
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    PageUp: [0, -page],
    PageDown: [0, page],
    Home: [0, -steps],
    End: [0, steps],
  };
  if (!KEYS.has(key)) return null;
  const [down, right] = by[key];
  return { task: within(from.task + down, tasks), column: within(from.column + right, steps) };
}

function within(index: number, count: number): number {
  return Math.min(Math.max(index, 0), count - 1);
}
