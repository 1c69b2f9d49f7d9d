/** Texts of a picture: as much as there is room for, in as many lines as they need. */

import { cutEnd } from "../../model/format/shorten";
import { GAP, MARGIN } from "./legend";

/** Height of one line of title or headline, and of each further one (CSS px). */
const HEAD = 36;
const LINE = 18;

export interface HeadText {
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

export function drawHead(pen: CanvasRenderingContext2D, placed: readonly PlacedText[], width: number): void {
  for (const { text, font, colour, x, y } of placed) {
    pen.font = font;
    pen.fillStyle = colour;
    write(pen, text, x, y, width - MARGIN - x);
  }
}

/** Writes as much of a text as there is room for. */
export function write(
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
