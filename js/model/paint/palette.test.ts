import { describe, expect, it } from "vitest";
import palette from "../../../tfvis_nb/core/palette.json";
import { meaningOf } from "../glossary";
import { activityIn } from "../lanes/event_text";
import { CATEGORIES, type Made, makeDrawn, makeLane } from "../wire/testing/synthetic";
import {
  contrast,
  fromLinear,
  lighten,
  mix,
  parseColour,
  type Rgb,
  toHex,
  toLinear,
  toOklab,
  toPixel,
} from "./colour";
import {
  ACTIVITIES,
  activityColour,
  activityLabel,
  colourTable,
  type Paints,
  paints,
  readable,
  shadesOf,
  type Theme,
  waitColour,
} from "./palette";

const made: Made[] = [
  { start: 0, duration: 5, name: "a/conv_1", op: "Conv2D", category: 0, lane: 0 },
  { start: 1, duration: 5, name: "a/conv_22", op: "Conv2D", category: 0, lane: 1 },
  { start: 2, duration: 50, name: "b/MatMul", op: "MatMul", category: 1, lane: 1 },
  { start: 3, duration: 1, name: "w", op: "RecvTensor", category: 6, lane: 2 },
];
const lanes = [
  makeLane("ops", "/job:worker/replica:0/task:0/device:CPU:0"),
  makeLane("ops", "/job:worker/replica:0/task:0/device:GPU:0"),
  makeLane("recv", "/job:worker/replica:0/task:1/device:GPU:0"),
];
const drawn = makeDrawn(made, lanes);
const COLOUR_BY = ["kind", "op", "device"] as const;
const THEMES = ["light", "dark"] as const;

function colourOf(painted: Paints, id: number): string {
  return painted.css[painted.colour[id]];
}

const GROUND = { light: "#ffffff", dark: "#16181d" };

it.each([...ACTIVITIES, "idle", "unknown", "tensor", "scratch"])("explains %s in the glossary", (name) => {
  expect(meaningOf(activityLabel(name))).toMatch(/\.$/);
});

/** Linear RGB as normal eyes, protanopes, deuteranopes and tritanopes see it (Machado, Oliveira and Fernandes 2009). */
const VISION = {
  normal: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};

/**
 * How far apart in OKLab any two colours must be. A difference of 0.02 is just noticeable side by side (CSS Color 4);
 * bars are small, and far from their legend.
 */
const LEAST_APART = 0.05;

/** A colour in OKLab as these eyes see it. */
function seen(colour: Rgb, eyes: readonly number[]): Rgb {
  const linear = colour.map(toLinear);
  const part = (row: number) =>
    fromLinear(linear.reduce((sum, each, at) => sum + each * eyes[3 * row + at], 0));
  return toOklab([part(0), part(1), part(2)]);
}

/** All colours that can be in one picture: of bars in all shades, and of parts of a step without events. */
function coloursIn(theme: Theme): { name: string; shades: Rgb[] }[] {
  const ground = parseColour(GROUND[theme]);
  const bars = [...ACTIVITIES, ...Object.keys(palette.memory)].map((name) => ({
    name,
    shades: shadesOf(name, theme).map(parseColour),
  }));
  const parts = ["idle", "unknown"].map((name) => {
    const css = activityColour(name, theme);
    const share = Number.parseInt(css.slice(7), 16) / 255;
    return { name, shades: [mix(ground, parseColour(css), share)] };
  });
  return [...bars, ...parts];
}

describe.each(THEMES)("the colours of the %s theme", (theme) => {
  it.each(Object.entries(VISION))("differ to eyes with %s vision", (_, eyes) => {
    const colours = coloursIn(theme).map(({ name, shades }) => ({
      name,
      shades: shades.map((shade) => seen(shade, eyes)),
    }));
    const close = colours.flatMap((one, at) =>
      colours.slice(at + 1).flatMap((other) => {
        const pairs = one.shades.flatMap((a) => other.shades.map((b) => [a, b]));
        const least = Math.min(...pairs.map(([a, b]) => Math.hypot(...a.map((part, i) => part - b[i]))));
        return least < LEAST_APART ? [`${one.name}, ${other.name}: ${least.toFixed(3)}`] : [];
      }),
    );
    expect(close).toEqual([]);
  });

  it("stand out from the ground and carry names", () => {
    const ground = parseColour(GROUND[theme]);
    const strong = ["device_compute", "h2d", "d2h", "d2d", "communication", "tensor", "scratch"];
    for (const name of [...ACTIVITIES, "tensor", "scratch"]) {
      const shades = shadesOf(name, theme);
      const text = parseColour(readable(shades));
      for (const shade of shades.map(parseColour)) {
        // Work of devices and the network is sparse: a pixel of it must be seen. Bars of the host are many.
        expect(contrast(shade, ground), name).toBeGreaterThanOrEqual(strong.includes(name) ? 3 : 1.4);
        expect(contrast(shade, text), name).toBeGreaterThanOrEqual(4.5);
      }
    }
  });
});

describe("paints", () => {
  it.each(COLOUR_BY)("by %s: every event has one of fewer than 128 colours, with readable text", (by) => {
    for (const theme of THEMES) {
      const { colour, css, text } = paints(drawn, by, theme);
      expect(css.length).toBeLessThanOrEqual(128);
      expect(Math.max(...colour)).toBeLessThan(css.length);
      css.forEach((colour, i) => {
        const other = text[i] === "#fff" ? "#000" : "#fff";
        const readable = contrast(parseColour(colour), parseColour(text[i]));
        // The letters of a kind are those of all its colours, and so not the best ones of each.
        if (by !== "kind")
          expect(readable).toBeGreaterThanOrEqual(contrast(parseColour(colour), parseColour(other)));
        expect(readable).toBeGreaterThanOrEqual(4.5);
      });
    }
  });

  it("by kind: names that differ in numbers look alike, and stay close to the kind's own colour", () => {
    const painted = paints(drawn, "kind", "light");
    expect(painted.colour[0]).toBe(painted.colour[1]);
    drawn.category.forEach((category, id) => {
      const own = activityColour(activityIn(CATEGORIES[category]), "light");
      const [mine, base] = [colourOf(painted, id), own].map(parseColour);
      for (const part of [0, 1, 2]) expect(Math.abs(mine[part] - base[part])).toBeLessThanOrEqual(24);
    });
    expect(painted.legend).toEqual(
      ["device_compute", "communication", "host_compute"].map((activity) => ({
        label: activityLabel(activity),
        css: activityColour(activity, "light"),
        activity,
      })),
    );
  });

  it.each(THEMES)(
    "by kind: an event that waits all its time does not look like work in the %s theme",
    (theme) => {
      const wait = Float64Array.of(5, 4, 0, 0);
      const painted = paints({ ...drawn, wait }, "kind", theme);
      expect(colourOf(painted, 0)).toBe(waitColour(theme));
      const work = paints(drawn, "kind", theme);
      expect([1, 2, 3].map((id) => colourOf(painted, id))).toEqual([1, 2, 3].map((id) => colourOf(work, id)));
    },
  );

  it("by op: one colour an op, the most time first in the legend, no two of the first 23 alike", () => {
    const many = Array.from({ length: 23 }, (_, i) => ({
      start: i,
      duration: 100 - i,
      op: `Op${"x".repeat(i)}`,
    }));
    const painted = paints(makeDrawn(many), "op", "dark");
    expect(new Set(painted.colour).size).toBe(23);
    expect(painted.legend.map((entry) => entry.label)).toEqual(many.slice(0, 12).map(({ op }) => op));
    const few = paints(drawn, "op", "dark");
    expect(few.colour[0]).toBe(few.colour[1]);
    expect(few.legend[0]).toEqual({ label: "MatMul", css: colourOf(few, 2) });
  });

  it("by kind: names of one kind have letters of one colour, which can be read", () => {
    const names = Array.from("abcdefghijklmnop", (letter) => ({ start: 0, duration: 1, name: letter }));
    for (const theme of ["light", "dark"] as const) {
      for (let category = 0; category < drawn.categories.length; category++) {
        const made = makeDrawn(names.map((each) => ({ ...each, category })));
        const { colour, text, css } = paints(made, "kind", theme);
        const used = [...new Set(colour)];
        expect(used.length).toBeGreaterThan(2);
        expect(new Set(used.map((each) => text[each])).size).toBe(1);
        for (const each of used)
          expect(contrast(parseColour(css[each]), parseColour(text[each]))).toBeGreaterThanOrEqual(4.5);
      }
    }
  });

  it.each(THEMES)("by op: device work stands out from the ground of the %s theme", (theme) => {
    const category = CATEGORIES.indexOf("kernel device_compute");
    const kernels = Array.from("abcdefgh", (op) => ({ start: 0, duration: 1, op, category }));
    const { colour, css } = paints(makeDrawn(kernels), "op", theme);
    for (const used of new Set(colour))
      expect(contrast(parseColour(css[used]), parseColour(GROUND[theme]))).toBeGreaterThanOrEqual(3);
  });

  it("are those of no activity for a name that is not known", () => {
    expect(activityColour("nothing known", "light")).toBe(activityColour("none", "light"));
  });

  it("by op: an op keeps its colour from trace to trace", () => {
    const other = makeDrawn([{ start: 0, duration: 9, op: "MatMul" }]);
    expect(colourOf(paints(other, "op", "light"), 0)).toBe(colourOf(paints(drawn, "op", "light"), 2));
  });

  it("by device: one colour a device, named as people do", () => {
    const painted = paints(drawn, "device", "light");
    expect(painted.colour[1]).toBe(painted.colour[2]);
    expect(painted.legend).toEqual([
      { label: "worker 0 · CPU:0", css: colourOf(painted, 0) },
      { label: "worker 0 · GPU:0", css: colourOf(painted, 1) },
      { label: "worker 1 · GPU:0", css: colourOf(painted, 3) },
    ]);
    expect(new Set(painted.legend.map((entry) => entry.css)).size).toBe(3);
  });
});

describe("colourTable", () => {
  it("has each colour, the dimmed one, and the faint ones of both", () => {
    const table = colourTable(["#000000", "#ff8000"], "#ffffff");
    expect(table.length).toBe(512);
    expect([table[0], table[1]]).toEqual([0xff000000, 0xff0080ff]);
    expect(table[128]).toBe(0xffc7c7c7);
    expect(table[256]).toBe(0xffb8b8b8);
    expect(table[256 + 128]).toBeGreaterThan(table[128]);
  });
});

describe("colours", () => {
  it("are read in the notations of style sheets", () => {
    expect(parseColour("#1f2430")).toEqual([31, 36, 48]);
    expect(parseColour("#fff")).toEqual([255, 255, 255]);
    expect(parseColour("#11223380")).toEqual([17, 34, 51]);
    expect(parseColour(" rgb(17, 34, 51)")).toEqual([17, 34, 51]);
    expect(parseColour("rgba(17 34 51 / 0.5)")).toEqual([17, 34, 51]);
    expect(() => parseColour("red")).toThrow('"red" is not a colour');
    expect(() => parseColour("#12345")).toThrow("is not a colour");
  });

  it("mix, and know their contrast as WCAG defines it", () => {
    expect(toHex(mix([0, 0, 0], [200, 100, 50], 0.5))).toBe("#643219");
    expect(contrast([0, 0, 0], [255, 255, 255])).toBeCloseTo(21, 5);
    expect(contrast([118, 118, 118], [255, 255, 255])).toBeCloseTo(4.54, 2);
    expect(toPixel([1, 2, 3])).toBe(0xff030201);
  });

  it("get rowHighlighter without changing when nothing is added", () => {
    for (const css of ["#5b8bd0", "#2f9e77", "#000000", "#ffffff", "#ff0000"]) {
      expect(toHex(lighten(parseColour(css), 0))).toBe(css);
    }
    expect(contrast(lighten([91, 139, 208], 0.06), [0, 0, 0])).toBeGreaterThan(
      contrast([91, 139, 208], [0, 0, 0]),
    );
  });
});
