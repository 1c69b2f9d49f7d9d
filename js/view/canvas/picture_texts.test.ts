import { expect, it } from "vitest";
import { headHeight, placeHead } from "./picture";

/** Letters of 10 px. */
const pen = {
  font: "",
  measureText: (text: string) => ({ width: 10 * text.length }),
} as unknown as CanvasRenderingContext2D;

const lines = (width: number, ...texts: string[]) =>
  placeHead(
    pen,
    texts.map((text) => ({ text, font: "", colour: "" })),
    width,
  );

it("title and summary stand in one line if there is room for both", () => {
  const placed = lines(300, "a title", "45.5 ms");
  expect(placed.map(({ text, x, y }) => [text, x, y])).toEqual([
    ["a title", 12, 18],
    ["45.5 ms", 98, 18],
  ]);
  expect(headHeight(placed)).toBe(36);
});

it("wraps texts that do not fit, without omitting any", () => {
  const placed = lines(174, "a title", "45.5 ms · 2 devices");
  expect(placed.map(({ text, x, y }) => [text, x, y])).toEqual([
    ["a title", 12, 18],
    ["45.5 ms · 2", 12, 36],
    ["devices", 12, 54],
  ]);
  expect(headHeight(placed)).toBe(72);
});
