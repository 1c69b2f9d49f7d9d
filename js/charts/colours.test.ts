import { describe, expect, it } from "vitest";
import type { Tokens } from "../ui/theme";
import type { BokehModel } from "./bokeh";
import { colourChart } from "./colours";

const tokens = { text: "#eee", muted: "#999", line: "#333", grid: "#222", font: "sans" } as Tokens;

function model(type: string, values: Record<string, unknown>) {
  const made = {
    type,
    properties: values,
    ...values,
    setv: (next: object) => void Object.assign(made, next),
  };
  return made;
}

describe("colourChart", () => {
  it("gives axes, grids and legends the page's colours, and leaves what was switched off", () => {
    const axis = model("LinearAxis", { axis_line_color: "black", major_label_text_color: "black" });
    const grid = model("Grid", { grid_line_color: null });
    const legend = model("Legend", { label_text_color: "black", label_text_font: "helvetica" });
    const root = { references: () => [axis, grid, legend] };
    colourChart(root as unknown as BokehModel, tokens);
    expect(axis).toMatchObject({ axis_line_color: "#333", major_label_text_color: "#999" });
    expect(grid).toMatchObject({ grid_line_color: null });
    expect(legend).toMatchObject({ label_text_color: "#eee", label_text_font: "sans" });
  });

  it("leaves what is drawn its colours", () => {
    const text = model("Text", { text_color: "red" });
    colourChart({ references: () => [text] } as unknown as BokehModel, tokens);
    expect(text).toMatchObject({ text_color: "red" });
  });
});
