/** The view, or two that are compared, as a complete picture: title, lanes, legend. */

import { withoutControls } from "../../model/format/bidi";
import { ticks } from "../../model/format/ticks";
import type { Store } from "../../state/store";
import { readTokens, type Tokens } from "../../ui/theme";
import { drawActivity } from "./activity";
import { Bars } from "./bars";
import { drawLegend, LEGEND_LINE, MARGIN, placeLegend } from "./legend";
import { drawOverlay } from "./overlay";
import { drawCorners, drawFlags, drawLabels } from "./picture_names";
import { type Paper, pngPaper, svgPaper } from "./picture_paper";
import { drawHead, type HeadText, headHeight, placeHead, write } from "./picture_texts";
import { drawRuler } from "./ruler";
import type { Surface } from "./surface";

/** The narrowest lanes (CSS px), and the part of a picture that the lanes' names take at most. */
const LEAST_LANES = 100;
const NAMES_PART = 1 / 3;
/** A lane with less of its height in view (CSS px) has no room for its name and a bar. */
const LEAST_LANE = 24;
/** The width of the lanes' names in the style sheet. */
const LABELS = "--labels";

/** A timeline on the screen. */
export interface Pictured {
  root: HTMLElement;
  store: Store;
}

/** A timeline, and the room it takes in a picture (CSS px). */
interface Part extends Pictured {
  main: HTMLElement;
  frame: DOMRect;
  /** Width of the lanes' names. */
  names: number;
  steps: HTMLElement | null;
  strip: number;
  head: ReturnType<typeof placeHead>;
  /** The height at the bottom of the lanes that is left out. */
  cut: number;
  width: number;
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
  try {
    return drawAll(paper, timelines, width, headline);
  } finally {
    for (const { root } of timelines)
      for (const part of [mainOf(root), stepsOf(root)]) {
        part?.style.removeProperty(LABELS);
        part?.style.removeProperty("width");
      }
  }
}

function drawAll(
  paper: Paper,
  timelines: readonly Pictured[],
  wanted: number | null,
  headline: string,
): Promise<Blob> {
  const { pen } = paper;
  const parts = timelines.map((each) => measured(pen, each, wanted));
  const width = Math.max(...parts.map((part) => part.width));
  const [{ root, store }] = timelines;
  pen.font = plainFont(root);
  const legend = placeLegend(
    pen,
    timelines.map((each) => each.store),
    width,
  );
  const foot = legend.length && (legend.at(-1)!.line + 1) * LEGEND_LINE + MARGIN;
  const { backgroundColor, color, fontSize, fontFamily } = getComputedStyle(root);
  const font = `650 ${fontSize} ${fontFamily}`;
  const head = placeHead(pen, headline ? [{ text: headline, font, colour: color }] : [], width);
  const above = headline ? headHeight(head) : 0;
  const height = parts.reduce((sum, part) => sum + heightOf(part), above + foot);
  paper.begin(width, height);
  pen.fillStyle = backgroundColor;
  pen.fillRect(0, 0, width, height);
  pen.textBaseline = "middle";
  drawHead(pen, head, width);
  pen.translate(0, above);
  for (const part of parts) drawPart(paper, part);
  pen.font = plainFont(root);
  drawLegend(pen, legend, store, readTokens(root));
  return paper.end(timelines.map((each) => each.root.ariaLabel).join(", "));
}

function mainOf(root: HTMLElement): HTMLElement {
  const main = root.querySelector<HTMLElement>(".main");
  if (!main) throw new Error("the picture is not ready yet");
  return main;
}

const stepsOf = (root: HTMLElement) => root.querySelector<HTMLElement>(".steps");

function plainFont(root: HTMLElement): string {
  const { fontSize, fontFamily } = getComputedStyle(root);
  return `${fontSize} ${fontFamily}`;
}

function measured(pen: CanvasRenderingContext2D, { root, store }: Pictured, wanted: number | null): Part {
  const main = mainOf(root);
  const frame = main.getBoundingClientRect();
  const width = wanted ?? frame.width;
  const names = Math.min(frame.width - store.width, Math.ceil(width * NAMES_PART));
  if (width - names < LEAST_LANES)
    throw new Error(`${Math.ceil(width)} px has no room for the lanes' names; choose a larger width`);
  // Lay out at the export width; restored before the next paint. On the screen steps are wider: details are below them.
  const steps = stepsOf(root);
  steps?.style.setProperty("width", `${width}px`);
  if (wanted !== null) for (const part of [main, steps]) part?.style.setProperty(LABELS, `${names}px`);
  const strip = steps?.getBoundingClientRect().height ?? 0;
  const head = placeHead(pen, headTexts(root), width);
  // The screen may be higher than its lanes.
  const bottom = Math.min(store.scroll + store.height, store.arrangement.height);
  const last = store.arrangement.items.find(
    ({ y, height }) => y > store.scroll && y < bottom && y + Math.min(height, LEAST_LANE) > bottom,
  );
  const cut = store.scroll + store.height - (last ? last.y : bottom);
  return { root, store, main, frame, names, steps, strip, head, cut, width };
}

function heightOf({ head, strip, frame, cut }: Part): number {
  return headHeight(head) + strip + frame.height - cut + MARGIN / 2;
}

/** Draws a timeline, and goes on to below it. */
function drawPart(paper: Paper, part: Part): void {
  const { root, store, main, frame, names, steps, strip, head, cut, width } = part;
  const { pen } = paper;
  const tokens = readTokens(root);
  drawHead(pen, head, width);
  pen.translate(0, headHeight(head));
  if (steps) drawSteps(pen, steps);
  pen.translate(0, strip);
  const own = store.width;
  // Everything here is drawn before anybody else can see it.
  store.width = width - names;
  store.height -= cut;
  try {
    drawLayers(paper, main, frame, store, tokens);
  } finally {
    store.width = own;
    store.height += cut;
  }
  const at = (x: number) => (x < names ? x : names + ((x - names) * (width - names)) / own);
  drawFlags(pen, main, frame, width, at);
  drawCorners(pen, main);
  drawLabels(pen, main, frame, cut);
  pen.translate(0, frame.height - cut + MARGIN / 2);
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
function drawSteps(pen: CanvasRenderingContext2D, steps: HTMLElement): void {
  const frame = steps.getBoundingClientRect();
  for (const part of steps.querySelectorAll<HTMLElement>(".step-bars b, .step-bars u")) {
    const box = part.getBoundingClientRect();
    pen.fillStyle = getComputedStyle(part).backgroundColor;
    pen.fillRect(box.left - frame.left, box.top - frame.top, box.width, box.height);
  }
  drawCorners(pen, steps);
  const summary = steps.querySelector<HTMLElement>(".step-summary");
  if (!summary) return;
  const own = getComputedStyle(summary);
  const { bottom } = summary.getBoundingClientRect();
  // Parts without room wrap to lines below the visible one.
  const seen = [...summary.children].flatMap((part) =>
    part.getBoundingClientRect().top < bottom ? (part.textContent ?? "") : [],
  );
  pen.font = `${own.fontSize} ${own.fontFamily}`;
  pen.fillStyle = own.color;
  pen.textAlign = "right";
  write(pen, seen.join(""), frame.width - MARGIN, frame.height / 2, summary.clientWidth - 2 * MARGIN);
  pen.textAlign = "left";
}

/** The title and summary, as in the line above the timeline. */
function headTexts(root: HTMLElement): HeadText[] {
  const parts = root.querySelectorAll<HTMLElement>(".toolbar .title, .toolbar .predicted, .toolbar .summary");
  return [...parts].map((part) => {
    const { fontWeight, fontSize, fontFamily, color } = getComputedStyle(part);
    const font = `${fontWeight} ${fontSize} ${fontFamily}`;
    return { text: withoutControls(part.textContent ?? ""), font, colour: color };
  });
}
