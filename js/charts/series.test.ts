import { describe, expect, it } from "vitest";
import { categoryColour } from "../model/paint/palette";
import type { BokehModel } from "./bokeh";
import { SeriesColours } from "./series";

const [light, dark] = (["light", "dark"] as const).map((theme) => categoryColour("kernel", theme));

function model(values: object) {
  const made = { ...values, setv: (next: object) => void Object.assign(made, next) };
  return made as typeof made & Record<string, unknown>;
}

function followed(...models: object[]): SeriesColours {
  return new SeriesColours({ references: () => models } as unknown as BokehModel);
}

describe("series", () => {
  it("have the colours of the timeline in the dark theme, and again their own in the light one", () => {
    const glyph = model({ fill_color: { value: light }, line_color: { field: "colour" } });
    const span = model({ line_color: light });
    const rows = model({ data: { colour: [light, "#123456"], x: [1, 2] } });
    const series = followed(glyph, span, rows);
    series.follow("dark");
    expect(glyph.fill_color).toEqual({ value: dark });
    expect(glyph.line_color).toEqual({ field: "colour" });
    expect(span.line_color).toBe(dark);
    expect(rows.data).toEqual({ colour: [dark, "#123456"], x: [1, 2] });
    series.follow("light");
    expect(glyph.fill_color).toEqual({ value: light });
    expect(rows.data).toEqual({ colour: [light, "#123456"], x: [1, 2] });
  });

  it("keep colours that mean nothing in the timeline", () => {
    const glyph = model({ fill_color: { value: "white" }, line_color: { value: null } });
    followed(glyph).follow("dark");
    expect(glyph).toMatchObject({ fill_color: { value: "white" }, line_color: { value: null } });
  });
});
