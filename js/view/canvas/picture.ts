/** The view, or two that are compared, as a complete picture: title, lanes, legend. */

import { withoutControls } from "../../model/format/bidi";
import { cutEnd, cutInside } from "../../model/format/shorten";
import { ticks } from "../../model/format/ticks";
import type { Store } from "../../state/store";
import { readTokens, type Tokens } from "../../ui/theme";
import { drawActivity } from "./activity";
import { Bars } from "./bars";
import { drawLegend, GAP, LEGEND_LINE, MARGIN, placeLegend } from "./legend";
import { drawOverlay } from "./overlay";
import { drawRuler } from "./ruler";
import { asContext, fitSurface, makeSurface, type Surface } from "./surface";
import { escaped, SvgPen } from "./svg_pen";

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

/** The labels next to the lanes: their names and figures. */
const NAMES = ["b", ".context", "small"].map((each) => `.labels ${each}`).join();

/** Left of a name above the lanes, and right of it (CSS px). */
const CORNER_PAD = 10;

/** The visible text in an element, without text for screen readers (one pixel wide) and clipped text. */
function shownText(element: HTMLElement): string {
  const isShown = (node: Node) => !(node instanceof HTMLElement) || node.getBoundingClientRect().width > 1;
  const parts = [...element.childNodes].filter(isShown);
  return parts.map((node) => (node instanceof HTMLElement ? shownText(node) : node.textContent)).join("");
}

/** The lanes' names, which are text next to the canvases. */
function drawLabels(pen: CanvasRenderingContext2D, main: HTMLElement, frame: DOMRect, cut: number): void {
  const labels = main.querySelector(".labels")?.getBoundingClientRect();
  if (!labels) return;
  for (const label of main.querySelectorAll<HTMLElement>(NAMES)) {
    const box = label.getBoundingClientRect();
    // Without room for a part, the style sheet leaves it one pixel for screen readers.
    if (box.width < 2 || box.bottom < labels.top || box.top > labels.bottom - cut) continue;
    const own = getComputedStyle(label);
    pen.font = `${own.fontWeight} ${own.fontSize} ${own.fontFamily}`;
    pen.fillStyle = own.color;
    write(
      pen,
      withoutControls(shownText(label)),
      box.left - frame.left,
      (box.top + box.bottom) / 2 - frame.top,
      Math.min(box.right, labels.right - 3) - box.left,
      // Lanes next to each other often differ in the ends of their names.
      label.tagName === "B" && !label.closest(".memory") ? cutInside : cutEnd,
    );
  }
}

/** The names of the rows above the lanes: the text before the controls. */
function drawCorners(pen: CanvasRenderingContext2D, parent: HTMLElement): void {
  const frame = parent.getBoundingClientRect();
  for (const corner of parent.querySelectorAll<HTMLElement>(".corner")) {
    const box = corner.getBoundingClientRect();
    const { color, fontSize, fontFamily } = getComputedStyle(corner);
    pen.font = `${fontSize} ${fontFamily}`;
    pen.fillStyle = color;
    const [x, y] = [box.left - frame.left + CORNER_PAD, (box.top + box.bottom) / 2 - frame.top];
    write(pen, corner.firstChild?.textContent ?? "", x, y, box.width - 2 * CORNER_PAD);
  }
}

/** The names of annotations, above the lanes; `at` is where a place on the screen is in the picture. */
function drawFlags(
  pen: CanvasRenderingContext2D,
  main: HTMLElement,
  frame: DOMRect,
  most: number,
  at: (x: number) => number,
): void {
  const flags = [...main.querySelectorAll<HTMLElement>(".flags, .corner.noted, .flags button")];
  for (const [index, flag] of flags.entries()) {
    const box = flag.getBoundingClientRect();
    const own = getComputedStyle(flag);
    const [left, y] = [at(box.left - frame.left), box.top - frame.top];
    const next = flags[index + 1]?.getBoundingClientRect().left ?? Number.POSITIVE_INFINITY;
    const isFlag = flag.tagName === "BUTTON";
    const width = isFlag
      ? Math.min(flag.scrollWidth, at(next - frame.left) - left)
      : at(box.right - frame.left) - left;
    // The name of the last element precedes it.
    const x = Math.max(Math.min(left, most - width), 0);
    pen.fillStyle = own.backgroundColor;
    pen.fillRect(x, y, width, box.height);
    if (!isFlag) continue;
    pen.fillStyle = own.borderLeftColor;
    pen.fillRect(x, y, 2, box.height);
    pen.font = `${own.fontSize} ${own.fontFamily}`;
    pen.fillStyle = own.color;
    write(pen, withoutControls(flag.textContent ?? ""), x + 7, y + box.height / 2, width - 10);
  }
}

/** Where other chunks of a PNG may follow, and pHYs with RATIO * 96 pixels an inch; browsers write none. */
const HEADER = 33;
const PHYS = [0, 0, 0, 9, 112, 72, 89, 115, 0, 0, 29, 135, 0, 0, 29, 135, 1, 143, 229, 241, 101];
const withResolution = (png: Blob) =>
  new Blob([png.slice(0, HEADER), Uint8Array.from(PHYS), png.slice(HEADER)], { type: png.type });

/** Pixels of a PNG, and columns of bars in an SVG, for each CSS pixel on every screen. */
const RATIO = 2;

interface Paper {
  pen: CanvasRenderingContext2D;
  /** Set the size (CSS px), which resets the pen. */
  begin(width: number, height: number): void;
  /** Draw a part of the picture at (x, y), as on a canvas of its own. */
  layer(x: number, y: number, width: number, height: number, draw: (surface: Surface) => void): void;
  end(title: string): Promise<Blob>;
}

function pngPaper(): Paper {
  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d");
  if (!pen) throw new Error("this browser has no 2D canvas");
  return {
    pen,
    begin(width, height) {
      canvas.width = Math.round(width * RATIO);
      canvas.height = Math.round(height * RATIO);
      pen.setTransform(RATIO, 0, 0, RATIO, 0, 0);
    },
    layer(x, y, width, height, draw) {
      const surface = makeSurface(document.createElement("div"), false);
      fitSurface(surface, width, height, RATIO);
      draw(surface);
      pen.drawImage(surface.element, x, y, width, height);
    },
    end: () =>
      new Promise((resolve, reject) => {
        canvas.toBlob(
          (blob) => (blob ? resolve(withResolution(blob)) : reject(new Error("the picture is too large"))),
          "image/png",
        );
      }),
  };
}

function svgPaper(): Paper {
  const pen = new SvgPen();
  let size = "";
  return {
    pen: asContext(pen),
    begin(width, height) {
      size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
    },
    layer(x, y, width, height, draw) {
      const element = { width: Math.round(width * RATIO), height: Math.round(height * RATIO) };
      pen.layer(x, y, width, height, (own) =>
        draw({ context: asContext(own), element, width, height, ratio: RATIO }),
      );
    },
    async end(title) {
      const root = `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">`;
      const text = `${root}<title>${escaped(title)}</title>${pen.text}</svg>\n`;
      return new Blob([text], { type: "image/svg+xml" });
    },
  };
}

/** Height of one line of title or headline, and of each further one (CSS px). */
const HEAD = 36;
const LINE = 18;

interface HeadText {
  text: string;
  font: string;
  colour: string;
}

interface PlacedText extends HeadText {
  x: number;
  /** Of its middle. */
  y: number;
}

/** Texts that follow each other in one line if they fit, and are broken at spaces if they do not. */
export function placeHead(
  pen: CanvasRenderingContext2D,
  texts: readonly HeadText[],
  width: number,
): PlacedText[] {
  const end = width - MARGIN;
  const placed: PlacedText[] = [];
  let [x, y] = [MARGIN, HEAD / 2];
  const place = (style: HeadText, text: string) => {
    placed.push({ ...style, text, x, y });
    x += pen.measureText(text).width + GAP;
  };
  const next = () => {
    x = MARGIN;
    y += LINE;
  };
  for (const style of texts) {
    pen.font = style.font;
    if (x > MARGIN && x + pen.measureText(style.text).width > end) next();
    let line = "";
    for (const word of style.text.split(" ")) {
      const longer = line ? `${line} ${word}` : word;
      if (line && x + pen.measureText(longer).width > end) {
        place(style, line);
        next();
        line = word;
      } else line = longer;
    }
    if (line) place(style, line);
  }
  return placed;
}

export function headHeight(placed: readonly PlacedText[]): number {
  return (placed.at(-1)?.y ?? HEAD / 2) + HEAD / 2;
}

function drawHead(pen: CanvasRenderingContext2D, placed: readonly PlacedText[], width: number): void {
  for (const { text, font, colour, x, y } of placed) {
    pen.font = font;
    pen.fillStyle = colour;
    write(pen, text, x, y, width - MARGIN - x);
  }
}

/** Writes as much of a text as there is room for. */
function write(
  pen: CanvasRenderingContext2D,
  text: string,
  x: number,
  y: number,
  room: number,
  cut = cutEnd,
): void {
  pen.fillText(
    cut(text, room + 1, (part) => pen.measureText(part).width),
    x,
    y,
  );
}
