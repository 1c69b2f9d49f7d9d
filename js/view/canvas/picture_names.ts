/** Names in a picture that are text on the screen: of the lanes, and of annotations. */

import { withoutControls } from "../../model/format/bidi";
import { cutEnd, cutInside } from "../../model/format/shorten";
import { write } from "./picture_texts";

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
export function drawLabels(
  pen: CanvasRenderingContext2D,
  main: HTMLElement,
  frame: DOMRect,
  cut: number,
): void {
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
export function drawCorners(pen: CanvasRenderingContext2D, parent: HTMLElement): void {
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
export function drawFlags(
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
