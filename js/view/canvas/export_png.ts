/** The view as a picture that stands alone: what it is of, what is on the screen, what the colours mean. */

import { withoutControls } from "../../model/format/bidi";
import { waitColour } from "../../model/paint/palette";
import type { Store } from "../../state/store";

const MARGIN = 12;
const HEAD = 36;
const LEGEND_LINE = 24;
const SWATCH = 10;
const GAP = 16;
/** What is written beside the lanes: their names, counts, peaks, and how far a task's clock can be trusted. */
const NAMES = ["b", ".context", ".count", "small", ".clock"].map((each) => `.labels ${each}`).join();

/** One entry of the legend, and where it stands. */
interface Placed {
  label: string;
  css: string;
  x: number;
  line: number;
}

/** The title, minimap, ruler and lanes as they are on the screen with their labels, and the legend, as a PNG. */
export async function pictureOf(root: HTMLElement, store: Store): Promise<Blob> {
  const main = root.querySelector<HTMLElement>(".main");
  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d");
  if (!main || !pen) throw new Error("there is no picture yet");
  const frame = main.getBoundingClientRect();
  const ratio = window.devicePixelRatio || 1;
  const style = getComputedStyle(root);
  const plain = `${style.fontSize} ${style.fontFamily}`;
  pen.font = plain;
  const legend = placed(pen, store, frame.width);
  const lines = (legend.at(-1)?.line ?? -1) + 1;
  const foot = lines === 0 ? 0 : lines * LEGEND_LINE + MARGIN;
  canvas.width = Math.round(frame.width * ratio);
  canvas.height = Math.round((HEAD + frame.height + foot) * ratio);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = style.backgroundColor;
  pen.fillRect(0, 0, frame.width, HEAD + frame.height + foot);
  pen.textBaseline = "middle";
  drawHead(pen, root, frame.width);
  pen.translate(0, HEAD);
  for (const layer of main.querySelectorAll("canvas")) {
    const box = layer.getBoundingClientRect();
    pen.drawImage(layer, box.left - frame.left, box.top - frame.top, box.width, box.height);
  }
  drawLabels(pen, main, frame);
  pen.translate(0, frame.height + MARGIN / 2);
  pen.font = plain;
  for (const { label, css, x, line } of legend) {
    const middle = (line + 0.5) * LEGEND_LINE;
    pen.fillStyle = css;
    pen.fillRect(x, middle - SWATCH / 2, SWATCH, SWATCH);
    pen.fillStyle = style.color;
    pen.fillText(label, x + SWATCH + 6, middle);
  }
  return new Promise((resolve, reject) => {
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large"))),
      "image/png",
    );
  });
}

/** What the picture is of, as the line above the timeline says it. */
function drawHead(pen: CanvasRenderingContext2D, root: HTMLElement, width: number): void {
  let x = MARGIN;
  for (const part of root.querySelectorAll<HTMLElement>(".toolbar .title, .toolbar .summary")) {
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

/** The lanes' names, which are text beside the canvases. */
function drawLabels(pen: CanvasRenderingContext2D, main: HTMLElement, frame: DOMRect): void {
  const labels = main.querySelector(".labels")?.getBoundingClientRect();
  if (!labels) return;
  for (const label of main.querySelectorAll<HTMLElement>(NAMES)) {
    const box = label.getBoundingClientRect();
    // Where there is no room for some of it, the style sheet leaves it a pixel for screen readers.
    if (box.width < 2 || box.bottom < labels.top || box.top > labels.bottom) continue;
    const own = getComputedStyle(label);
    pen.font = `${own.fontWeight} ${own.fontSize} ${own.fontFamily}`;
    pen.fillStyle = own.color;
    pen.fillText(
      withoutControls(label.dataset.short ?? label.textContent ?? ""),
      box.left - frame.left,
      (box.top + box.bottom) / 2 - frame.top,
      box.width,
    );
  }
}

/** The legend's entries in as many lines as they need. */
function placed(pen: CanvasRenderingContext2D, store: Store, width: number): Placed[] {
  const { painting, drawn, host } = store;
  const entries = painting.paints.legend.map(({ label, css }) => ({ label: withoutControls(label), css }));
  if (host.get("color_by") === "kind" && drawn.wait) {
    entries.push({ label: "waiting", css: waitColour(painting.theme) });
  }
  let x = MARGIN;
  let line = 0;
  return entries.map((entry) => {
    const wide = SWATCH + 6 + pen.measureText(entry.label).width;
    if (x > MARGIN && x + wide > width - MARGIN) {
      x = MARGIN;
      line += 1;
    }
    const at = { ...entry, x, line };
    x += wide + GAP;
    return at;
  });
}
