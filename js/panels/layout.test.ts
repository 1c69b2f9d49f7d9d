import { describe, expect, it } from "vitest";
import type { ColumnUnit } from "../model/format/column_units";
import { isWide } from "./layout";

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
});
