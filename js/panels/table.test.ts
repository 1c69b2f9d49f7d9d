import { describe, expect, it } from "vitest";
import type { ColumnUnit } from "../model/wire/schema";
import { isWide, rowsNote, rowsOfStep } from "./table";

const table = (...units: ColumnUnit[]) =>
  units.map((unit, at) => ({ name: `${at}`, label: `${at}`, unit, definition: "A column." }));

describe("isWide", () => {
  it("gives tables of many columns all the width", () => {
    expect(isWide(table(...Array<ColumnUnit>(8).fill("ns")))).toBe(true);
    expect(isWide(table(...Array<ColumnUnit>(7).fill("ns")))).toBe(false);
  });

  it("counts several texts for more: gaps have device, cause and node", () => {
    expect(isWide(table("text", "number", "ns", "time", "text", "share", "name"))).toBe(true);
    expect(isWide(table("text", "ns", "time", "text", "share", "name"))).toBe(true);
    expect(isWide(table("name", "text", "ns", "share", "count", "ns", "ns"))).toBe(false);
    expect(isWide(table("text", "text", "name"))).toBe(false);
  });

  it("gives differences from a base the room for their intervals", () => {
    const [name, time, text] = table("name", "ns", "text");
    expect(isWide([name, time, text])).toBe(false);
    expect(isWide([name, time, { ...text, name: "against" }])).toBe(true);
  });
});

describe("rowsOfStep", () => {
  const columns = ["device", "step"].map((name) => ({
    name,
    label: name,
    unit: "number" as const,
    definition: "",
  }));
  const block = (...steps: number[]) => ({ columns, note: "", rows: steps.map((step) => ["GPU:0", step]) });

  it("shows the rows of the step that is shown alone", () => {
    expect(rowsOfStep(block(0, 0, 1, -1), 0)).toEqual({ shown: [0, 1], marked: -1 });
    expect(rowsOfStep(block(0, 0, 1, -1), -1)).toEqual({ shown: [3], marked: -1 });
    expect(rowsOfStep(block(0, 0, 1), 2)).toEqual({ shown: [], marked: -1 });
    expect(rowsOfStep(block(0, 0, 1), null)).toEqual({ shown: [0, 1, 2], marked: -1 });
  });

  it("marks the step where each has one row", () => {
    expect(rowsOfStep(block(2, 0, 1), 1)).toEqual({ shown: [0, 1, 2], marked: 2 });
    expect(rowsOfStep(block(2, 0, 1), 7).marked).toBe(-1);
  });

  it("keeps tables without steps", () => {
    const { rows } = block(0, 0, 1);
    expect(rowsOfStep({ columns: columns.slice(0, 1), rows, note: "" }, 0).shown).toEqual([0, 1, 2]);
  });

  it("counts the rows left out", () => {
    expect(rowsNote(block(0, 0, 1), 2, 0)).toBe("Of 3 rows, 2 are in step 0.");
    expect(rowsNote({ ...block(0, 0, -1), note: "The 3 longest of 9 rows." }, 1, -1)).toBe(
      "The 3 longest of 9 rows. Of these, 1 is outside steps.",
    );
    expect(rowsNote(block(2, 0, 1), 3, 1)).toBe("");
  });
});
