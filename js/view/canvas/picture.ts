/** The view as a complete picture: title, lanes, legend. */

import { withoutControls } from "../../model/format/bidi";
import { ticks } from "../../model/format/ticks";
import type { Store } from "../../state/store";
import { readTokens, type Tokens } from "../../ui/theme";
import { drawActivity } from "./activity";
import { Bars } from "./bars";
import { drawOverlay } from "./overlay";
import { drawLegend, LEGEND_LINE, placeLegend } from "./picture_legend";
import { type Paper, pngPaper, svgPaper } from "./picture_paper";
import { drawRuler } from "./ruler";
import type { Surface } from "./surface";

const MARGIN = 12;
const HEAD = 36;
const GAP = 16;
/**
 * The labels next to the lanes: their names, counts, peaks, and how far a task's clock can be trusted.
 */
const NAMES = ["b", ".context", ".count", "small", ".clock"].map((each) => `.labels ${each}`).join();

/** The title, steps, activity, ruler, lanes with labels as on the screen, and the legend. */
export function pictureOf(root: HTMLElement, store: Store, form: "png" | "svg" = "png"): Promise<Blob> {
  const main = root.querySelector<HTMLElement>(".main");
  if (!main) throw new Error("the picture is not ready yet");
  const paper = form === "png" ? pngPaper() : svgPaper();
  const { pen } = paper;
  const tokens = readTokens(root);
  const frame = main.getBoundingClientRect();
  const steps = root.querySelector<HTMLElement>(".steps");
  const strip = steps?.getBoundingClientRect().height ?? 0;
  const style = getComputedStyle(root);
  const plain = `${style.fontSize} ${style.fontFamily}`;
  pen.font = plain;
  const legend = placeLegend(pen, store, frame.width);
  const lines = (legend.at(-1)?.line ?? -1) + 1;
  const foot = lines === 0 ? 0 : lines * LEGEND_LINE + MARGIN;
  const height = HEAD + strip + frame.height + foot;
  paper.begin(frame.width, height);
  pen.fillStyle = style.backgroundColor;
  pen.fillRect(0, 0, frame.width, height);
  pen.textBaseline = "middle";
  drawHead(pen, root, frame.width);
  pen.translate(0, HEAD);
  if (steps) drawSteps(pen, steps, frame.width);
  pen.translate(0, strip);
  drawLayers(paper, main, frame, store, tokens);
  drawFlags(pen, main, frame);
  drawLabels(pen, main, frame);
  pen.translate(0, frame.height + MARGIN / 2);
  pen.font = plain;
  drawLegend(pen, legend, store, tokens);
  return paper.end(root.ariaLabel ?? "");
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
  for (const part of steps.querySelectorAll<HTMLElement>(".step-bars b, .step-bars u")) {
    const box = part.getBoundingClientRect();
    pen.fillStyle = getComputedStyle(part).backgroundColor;
    pen.fillRect(box.left - frame.left, box.top - frame.top, box.width, box.height);
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
  pen.fillText(seen.join(""), width - MARGIN, frame.height / 2, told.clientWidth);
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
    pen.fillText(text, x, HEAD / 2, room);
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

/** The names of annotations, above the lanes. */
function drawFlags(pen: CanvasRenderingContext2D, main: HTMLElement, frame: DOMRect): void {
  for (const flag of main.querySelectorAll<HTMLElement>(".flags, .corner.noted, .flags button")) {
    const box = flag.getBoundingClientRect();
    const own = getComputedStyle(flag);
    const [x, y] = [box.left - frame.left, box.top - frame.top];
    pen.fillStyle = own.backgroundColor;
    pen.fillRect(x, y, box.width, box.height);
    if (flag.children.length) continue;
    pen.fillStyle = own.borderLeftColor;
    pen.fillRect(x, y, 2, box.height);
    pen.font = `${own.fontSize} ${own.fontFamily}`;
    pen.fillStyle = own.color;
    pen.fillText(
      fitted(pen, withoutControls(flag.textContent ?? ""), box.width - 10),
      x + 7,
      y + box.height / 2,
    );
  }
}

/** As much of a text as there is room for. */
function fitted(pen: CanvasRenderingContext2D, text: string, room: number): string {
  if (pen.measureText(text).width <= room + 1) return text;
  let length = text.length;
  while (length > 0 && pen.measureText(`${text.slice(0, length)}…`).width > room) length--;
  return `${text.slice(0, length)}…`;
}
