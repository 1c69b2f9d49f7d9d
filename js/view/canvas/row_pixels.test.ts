import { expect, it } from "vitest";
import { RowPixels } from "./sheet";

const GROUND = 9;
const COLOURS = Uint32Array.from({ length: 512 }, (_, place) => place);

/** The picture of a row from line `top`, one string a line: ground ".", solid "#", faint "-". */
function picture(levels: number[], top: number, height: number, lines: number): string[] {
  const codes = Uint16Array.from(levels, (level) => (level ? level * 256 + 1 : 0));
  const pixels = new Uint32Array(levels.length * lines).fill(GROUND);
  const ground = new Uint32Array(levels.length).fill(GROUND);
  new RowPixels().fill(pixels, top, top + height, codes, ground, COLOURS);
  return Array.from({ length: lines }, (_, y) =>
    Array.from(pixels.subarray(y * levels.length, (y + 1) * levels.length), (pixel) =>
      pixel === GROUND ? "." : pixel === 1 ? "#" : "-",
    ).join(""),
  );
}

it("fills each column from the base line up to its busy share", () => {
  expect(picture([15, 0, 3, 9], 1, 5, 7)).toEqual(["....", "#.--", "#.--", "#.-#", "#.-#", "#.##", "...."]);
});

it("keeps to the picture where a row begins above it or ends below it", () => {
  expect(picture([15, 3], -2, 5, 2)).toEqual(["#-", "#-"]);
  expect(picture([15, 3], -3, 5, 3)).toEqual(["#-", "##", ".."]);
  expect(picture([15, 3], 1, 5, 2)).toEqual(["..", "#-"]);
});

it("covers every line of a row, whatever its height", () => {
  for (let height = 1; height < 70; height++)
    for (let level = 1; level <= 15; level++) {
      const solid = picture([level], 0, height, height).filter((line) => line === "#").length;
      expect(Math.abs(solid - (height * level) / 15)).toBeLessThanOrEqual(0.5);
    }
});
