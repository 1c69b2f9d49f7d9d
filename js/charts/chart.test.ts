import { describe, expect, it } from "vitest";
import { activityColour } from "../model/paint/palette";
import type { Tokens } from "../ui/theme";
import type { BokehModel } from "./bokeh";
import { colourChart, SeriesColours } from "./chart";

const tokens = { text: "#eee", muted: "#999", line: "#333", grid: "#222", font: "sans" } as Tokens;

function part(type: string, values: Record<string, unknown>) {
  const made = {
    type,
    properties: values,
    ...values,
    setv: (next: object) => void Object.assign(made, next),
  };
  return made;
}

describe("colourChart", () => {
  it("gives axes, grids and legends the page's colours, and keeps parts switched off", () => {
    const axis = part("LinearAxis", { axis_line_color: "black", major_label_text_color: "black" });
    const grid = part("Grid", { grid_line_color: null });
    const legend = part("Legend", { label_text_color: "black", label_text_font: "helvetica" });
    const root = { references: () => [axis, grid, legend] };
    colourChart(root as unknown as BokehModel, tokens);
    expect(axis).toMatchObject({ axis_line_color: "#333", major_label_text_color: "#999" });
    expect(grid).toMatchObject({ grid_line_color: null });
    expect(legend).toMatchObject({ label_text_color: "#eee", label_text_font: "sans" });
  });

  it("leaves the colours of drawn models alone", () => {
    const text = part("Text", { text_color: "red" });
    colourChart({ references: () => [text] } as unknown as BokehModel, tokens);
    expect(text).toMatchObject({ text_color: "red" });
  });
});

const [light, dark] = (["light", "dark"] as const).map((theme) => activityColour("device_compute", theme));

function model(values: object) {
  const made = { ...values, setv: (next: object) => void Object.assign(made, next) };
  return made as typeof made & Record<string, unknown>;
}

function followed(...models: object[]): SeriesColours {
  return new SeriesColours({ references: () => models } as unknown as BokehModel);
}

describe("series", () => {
  it("have the colours of the timeline in the dark theme, and again their own in the light one", () => {
    const tags = ["colour:device_compute"];
    const glyph = model({ tags, fill_color: { value: light }, line_color: { value: "white" } });
    const span = model({ tags, line_color: light });
    const rows = model({
      data: {
        colour: [light, activityColour("compile", "light")],
        colour_name: ["device_compute", "compile"],
        x: [1, 2],
      },
    });
    const series = followed(glyph, span, rows);
    series.follow("dark");
    expect(glyph.fill_color).toEqual({ value: dark });
    expect(glyph.line_color).toEqual({ value: "white" });
    expect(span.line_color).toBe(dark);
    expect(rows.data).toMatchObject({ colour: [dark, activityColour("compile", "dark")], x: [1, 2] });
    series.follow("light");
    expect(glyph.fill_color).toEqual({ value: light });
    expect(rows.data).toMatchObject({ colour: [light, activityColour("compile", "light")], x: [1, 2] });
  });

  it("keep colours that stand for nothing, even one that a category has", () => {
    const glyph = model({ tags: ["other"], fill_color: { value: light }, line_color: { value: null } });
    followed(glyph).follow("dark");
    expect(glyph).toMatchObject({ fill_color: { value: light }, line_color: { value: null } });
  });
});
