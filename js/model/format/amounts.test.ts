import { expect, it } from "vitest";
import { formatAmount } from "./amounts";

it("values have their unit, and four digits unless they are whole", () => {
  expect(formatAmount(1234567, "")).toBe("1,234,567");
  expect(formatAmount(0.052129, "")).toBe("0.05213");
  expect(formatAmount(-12.3456, "%")).toBe("\u221212.35 %");
  expect(formatAmount(-1e174, "")).toBe("\u22121e+174");
  expect(formatAmount(4 * 2 ** 20, "bytes")).toBe("4.00 MiB");
  expect([1, 3, 2.5].map((each) => formatAmount(each, "elements"))).toEqual([
    ...["1 element", "3 elements", "2.5 elements"],
  ]);
  expect(formatAmount(Number.NaN, "%")).toBe("–");
});
