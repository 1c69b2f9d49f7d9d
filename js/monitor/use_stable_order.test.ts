import { describe, expect, it } from "vitest";
import { lateOnes, stableOrder } from "./sorting";
import { signature } from "./testing/fixtures";

const numbers = (rows: readonly { signature: number }[]) => rows.map((row) => row.signature);

describe("an order that is held", () => {
  it("keeps the order of rows and appends new ones", () => {
    const rows = [5, 3, 4, 1].map((number) => signature({ signature: number }));
    const shown = stableOrder(rows, [1, 2, 3], (row) => row.signature);
    expect(numbers(shown)).toEqual([1, 3, 5, 4]);
  });

  it("counts rows that are out of order because they are new", () => {
    const sorted = new Set([2, 1]);
    expect(lateOnes([4, 3, 2, 1], [2, 1, 4, 3], sorted)).toBe(2);
    expect(lateOnes([1, 2, 3], [1, 2, 3], sorted)).toBe(0);
    expect(lateOnes([2, 1], [1, 2], sorted)).toBe(0);
  });
});
