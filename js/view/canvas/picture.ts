/** The view, or two that are compared, as a complete picture: title, lanes, legend. */

import { withoutControls } from "../../model/format/bidi";
import { ticks } from "../../model/format/ticks";
import type { Store } from "../../state/store";
import { readTokens, type Tokens } from "../../ui/theme";
import { drawActivity } from "./activity";
import { Bars } from "./bars";
import { drawOverlay } from "./overlay";
import { drawLegend, GAP, LEGEND_LINE, MARGIN, placeLegend } from "./picture_legend";
import { type Paper, pngPaper, svgPaper } from "./picture_paper";
import { drawRuler } from "./ruler";
import type { Surface } from "./surface";

const HEAD = 36;
/** The narrowest lanes (CSS px). */
const LEAST_LANES = 100;
/**
 * The labels next to the lanes: their names, counts, peaks, and how far a task's clock can be trusted.
 */
const NAMES = ["b", ".context", ".count", "small", ".clock"].map((each) => `.labels ${each}`).join();

/** A timeline on the screen. */
export interface Pictured {
  root: HTMLElement;
  store: Store;
}

/** A timeline, and the room it takes in a picture (CSS px). */
interface Part extends Pictured {
  main: HTMLElement;
  frame: DOMRect;
  steps: HTMLElement | null;
  strip: number;
  legend: ReturnType<typeof placeLegend>;
  width: number;
  height: number;
}

/**
 * Timelines below each other, each with title, steps, activity, ruler, lanes with labels as on the screen, and legend;
 * as wide as on the screen, or `width` CSS px.
 */
export function pictureOf(
  timelines: readonly Pictured[],
  form: "png" | "svg",
  width: number | null = null,
  headline = "",
): Promise<Blob> {
  if (timelines.length === 0) throw new Error("the picture is not ready yet");
  const paper = form === "png" ? pngPaper() : svgPaper();
  const { pen } = paper;
  const parts = timelines.map((each) => measured(pen, each, width));
  const head = headline ? HEAD : 0;
  const wide = Math.max(...parts.map((part) => part.width));
  const height = parts.reduce((sum, part) => sum + part.height, head);
  paper.begin(wide, height);
  const style = getComputedStyle(timelines[0].root);
  pen.fillStyle = style.backgroundColor;
  pen.fillRect(0, 0, wide, height);
  pen.textBaseline = "middle";
  if (headline) {
    pen.fillStyle = style.color;
    pen.font = `650 ${style.fontSize} ${style.fontFamily}`;
    write(pen, headline, MARGIN, head / 2, wide - 2 * MARGIN);
    pen.translate(0, head);
  }
  for (const part of parts) drawPart(paper, part);
  return paper.end(timelines.map(({ root }) => root.ariaLabel).join(", "));
}

function plainFont(root: HTMLElement): string {
  const { fontSize, fontFamily } = getComputedStyle(root);
  return `${fontSize} ${fontFamily}`;
}

function measured(pen: CanvasRenderingContext2D, { root, store }: Pictured, wanted: number | null): Part {
  const main = root.querySelector<HTMLElement>(".main");
  if (!main) throw new Error("the picture is not ready yet");
  const frame = main.getBoundingClientRect();
  const width = wanted ?? frame.width;
  if (width - frame.width + store.width < LEAST_LANES)
    throw new Error(`${Math.ceil(width)} px has no room for the lanes' names; choose a larger width`);
  const steps = root.querySelector<HTMLElement>(".steps");
  const strip = steps?.getBoundingClientRect().height ?? 0;
  pen.font = plainFont(root);
  const legend = placeLegend(pen, store, width);
  const foot = legend.length && (legend.at(-1)!.line + 1) * LEGEND_LINE + MARGIN;
  const height = HEAD + strip + frame.height + foot;
  return { root, store, main, frame, steps, strip, legend, width, height };
}

/** Draws a timeline, and goes on to below it. */
function drawPart(
  paper: Paper,
  { root, store, main, frame, steps, strip, legend, width, height }: Part,
): void {
  const { pen } = paper;
  const tokens = readTokens(root);
  drawHead(pen, root, width);
  pen.translate(0, HEAD);
  if (steps) drawSteps(pen, steps, width);
  pen.translate(0, strip);
  const own = store.width;
  const names = frame.width - own;
  // Everything here is drawn before anybody else can see it.
  store.width = width - names;
  drawLayers(paper, main, frame, store, tokens);
  store.width = own;
  drawFlags(pen, main, frame, (x) => x + (Math.max(x - names, 0) * (width - frame.width)) / own);
  drawLabels(pen, main, frame);
  pen.translate(0, frame.height + MARGIN / 2);
  pen.font = plainFont(root);
  drawLegend(pen, legend, store, tokens);
  pen.translate(0, height - HEAD - strip - frame.height - MARGIN / 2);
}

/** The canvases anew, each in place of the one on the screen. */
function drawLayers(paper: Paper, main: HTMLElement, frame: DOMRect, store: Store, tokens: Tokens): void {
  const axis = ticks(store.viewport, store.width);
  const layer = (part: string, draw: (surface: Surface) => void) => {
    const place = main.querySelector<HTMLElement>(`[data-part="${part}"]`)?.getBoundingClientRect();
    if (!place) return;
    const { width, height } = part === "lanes" ? store : { width: store.width, height: place.height };
    paper.layer(place.left - frame.left, place.top - frame.top, width, height, draw);
  };
  layer("minimap", (surface) => drawActivity(surface, store));
  layer("ruler", (surface) => drawRuler(surface, store, tokens, axis));
  layer("lanes", (surface) => new Bars().draw(surface, store, tokens, axis.ticks));
  layer("lanes", (surface) => drawOverlay(surface, store, tokens));
}

/** The bars of the steps and the text next to them. */
function drawSteps(pen: CanvasRenderingContext2D, steps: HTMLElement, width: number): void {
  const frame = steps.getBoundingClientRect();
  const scale = width / frame.width;
  for (const part of steps.querySelectorAll<HTMLElement>(".step-bars b, .step-bars u")) {
    const box = part.getBoundingClientRect();
    pen.fillStyle = getComputedStyle(part).backgroundColor;
    pen.fillRect((box.left - frame.left) * scale, box.top - frame.top, box.width * scale, box.height);
  }
  const told = steps.querySelector<HTMLElement>(".step-told");
  if (!told) return;
  const own = getComputedStyle(told);
  const { bottom } = told.getBoundingClientRect();
  // Parts without room wrap to lines below the visible one.
  const seen = [...told.children].flatMap((part) =>
    part.getBoundingClientRect().top < bottom ? (part.textContent ?? "") : [],
  );
  pen.font = `${own.fontSize} ${own.fontFamily}`;
  pen.fillStyle = own.color;
  pen.textAlign = "right";
  write(pen, seen.join(""), width - MARGIN, frame.height / 2, told.clientWidth * scale);
  pen.textAlign = "left";
}

/** The title and summary, as in the line above the timeline. */
function drawHead(pen: CanvasRenderingContext2D, root: HTMLElement, width: number): void {
  let x = MARGIN;
  for (const part of root.querySelectorAll<HTMLElement>(
    ".toolbar .title, .toolbar .predicted, .toolbar .summary",
  )) {
    const own = getComputedStyle(part);
    const text = withoutControls(part.textContent ?? "");
    const room = width - MARGIN - x;
    pen.font = `${own.fontWeight} ${own.fontSize} ${own.fontFamily}`;
    pen.fillStyle = own.color;
    if (room <= 0) return;
    write(pen, text, x, HEAD / 2, room);
    x += pen.measureText(text).width + GAP;
  }
}

/** The text in an element without what is for screen readers, one pixel wide, and what has no room. */
function shownText(element: HTMLElement): string {
  const isShown = (node: Node) => !(node instanceof HTMLElement) || node.getBoundingClientRect().width > 1;
  const parts = [...element.childNodes].filter(isShown);
  return parts.map((node) => (node instanceof HTMLElement ? shownText(node) : node.textContent)).join("");
}

/** The lanes' names, which are text next to the canvases. */
function drawLabels(pen: CanvasRenderingContext2D, main: HTMLElement, frame: DOMRect): void {
  const labels = main.querySelector(".labels")?.getBoundingClientRect();
  if (!labels) return;
  for (const label of main.querySelectorAll<HTMLElement>(NAMES)) {
    const box = label.getBoundingClientRect();
    // Without room for a part, the style sheet leaves it one pixel for screen readers.
    if (box.width < 2 || box.bottom < labels.top || box.top > labels.bottom) continue;
    const own = getComputedStyle(label);
    pen.font = `${own.fontWeight} ${own.fontSize} ${own.fontFamily}`;
    pen.fillStyle = own.color;
    pen.fillText(
      withoutControls(label.dataset.short ?? shownText(label)),
      box.left - frame.left,
      (box.top + box.bottom) / 2 - frame.top,
      box.width,
    );
  }
}

/** The names of annotations, above the lanes; `at` is where a place on the screen is in the picture. */
function drawFlags(
  pen: CanvasRenderingContext2D,
  main: HTMLElement,
  frame: DOMRect,
  at: (x: number) => number,
): void {
  const flags = [...main.querySelectorAll<HTMLElement>(".flags, .corner.noted, .flags button")];
  for (const [index, flag] of flags.entries()) {
    const box = flag.getBoundingClientRect();
    const own = getComputedStyle(flag);
    const [x, y] = [at(box.left - frame.left), box.top - frame.top];
    const next = flags[index + 1]?.getBoundingClientRect().left ?? Number.POSITIVE_INFINITY;
    const width = flag.children.length
      ? at(box.right - frame.left) - x
      : Math.min(box.width, at(next - frame.left) - x);
    pen.fillStyle = own.backgroundColor;
    pen.fillRect(x, y, width, box.height);
    if (flag.children.length) continue;
    pen.fillStyle = own.borderLeftColor;
    pen.fillRect(x, y, 2, box.height);
    pen.font = `${own.fontSize} ${own.fontFamily}`;
    pen.fillStyle = own.color;
    write(pen, withoutControls(flag.textContent ?? ""), x + 7, y + box.height / 2, width - 10);
  }
}

/** Writes as much of a text as there is room for. */
function write(pen: CanvasRenderingContext2D, text: string, x: number, y: number, room: number): void {
  let shown = text;
  for (let length = text.length - 1; length >= 0 && pen.measureText(shown).width > room + 1; length--)
    shown = `${text.slice(0, length)}…`;
  pen.fillText(shown, x, y);
}
