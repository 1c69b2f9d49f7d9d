import { describe, expect, it } from "vitest";
import * as rules from "./rules";

describe("a rule as text", () => {
  it.each([
    ["", "none", 0],
    ["all", "all", 0],
    ["every 1000", "every", 1000],
    ["slower 2.5", "slower", 2.5],
    ["every", "none", 0],
    ["sometimes 3", "none", 0],
  ] as const)("%j is %s %d", (text, kind, value) => {
    expect(rules.parseRule(text)).toEqual({ kind, value });
  });

  it.each([
    ["all", "every run", "all"],
    ["every 1000", "every 1,000th run", "every 1,000"],
    ["slower 2.5", "runs over 2.5× the median of the last 64", "> 2.5×"],
    ["", "", ""],
  ])("%j reads %j, or %j", (text, name, mark) => {
    const rule = rules.parseRule(text);
    expect(rules.ruleName(rule)).toBe(name);
    expect(rules.ruleMark(rule)).toBe(mark);
  });

  it.each([
    [1, "1st"],
    [2, "2nd"],
    [3, "3rd"],
    [4, "4th"],
    [11, "11th"],
    [12, "12th"],
    [22, "22nd"],
    [113, "113th"],
    [1000, "1,000th"],
  ])("%d is the %s", (value, text) => {
    expect(rules.ordinal(value)).toBe(text);
  });
});

describe("the cost of a rule", () => {
  it("is paid by every run where every run has to be traced", () => {
    const costly = ["all", "slower 3", "every 1", "every 2", ""].map((text) =>
      rules.isCostly(rules.parseRule(text)),
    );
    expect(costly).toEqual([true, true, true, false, false]);
  });
});

describe("a typed rule", () => {
  it.each([0, -1, 1.5, Number.NaN])("rejects %d as a number of runs", (value) => {
    expect(rules.ruleFault({ kind: "every", value })).toContain("whole number");
  });

  it.each([0, -2, Number.NaN, Number.POSITIVE_INFINITY])("rejects %d as a factor", (value) => {
    expect(rules.ruleFault({ kind: "slower", value })).toContain("median, such as");
  });

  it("accepts other values", () => {
    expect(rules.ruleFault({ kind: "every", value: 10 })).toBeNull();
    expect(rules.ruleFault({ kind: "slower", value: 1.2 })).toBeNull();
    expect(rules.ruleFault({ kind: "all", value: 0 })).toBeNull();
  });

  it("turns into a command", () => {
    expect(rules.ruleCommand({ kind: "every", value: 10 }, 3)).toEqual({
      do: "trace_every",
      n: 10,
      signature: 3,
    });
    expect(rules.ruleCommand({ kind: "slower", value: 2 }, null)).toEqual({
      do: "trace_slow",
      factor: 2,
      signature: null,
    });
    expect(rules.ruleCommand({ kind: "all", value: 0 }, 1)).toEqual({ do: "trace_all", signature: 1 });
    expect(rules.ruleCommand({ kind: "none", value: 0 }, 1)).toEqual({ do: "stop_tracing", signature: 1 });
  });
});
