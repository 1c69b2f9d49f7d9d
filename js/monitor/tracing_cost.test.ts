import { expect, it } from "vitest";
import { signature, trace } from "./testing/fixtures";
import {
  addedText,
  batchText,
  ratio,
  ratioText,
  signatureRatioText,
  tracingText,
  untraced,
} from "./tracing_cost";

const texts = (duration_ns: number, untraced_ns: number | null) => {
  const row = trace({ duration_ns, untraced_ns });
  return [ratio(row), ratioText(row), addedText(row)];
};

it("compares a traced run with the untraced ones before it", () => {
  expect(texts(30e6, 12e6)).toEqual([2.5, "2.50×", "+18.0 ms"]);
  expect(texts(300e6, 12e6)).toEqual([25, "25.0×", "+288 ms"]);
  expect(texts(9e6, 12e6)).toEqual([0.75, "0.75×", "−3.00 ms"]);
  expect(texts(12e6, 12e6)).toEqual([1, "1.00×", "0 ns"]);
});

it("has no ratio without untraced runs", () => {
  expect(texts(30e6, null)).toEqual([null, "–", ""]);
  expect(ratio(trace({ untraced_ns: 0 }))).toBeNull();
});

it("has the ratio of a signature with its interval, as far as known", () => {
  const texts = ([[1.5, 1.25, 1.75], [2, null, null], null] as const).map((given) =>
    signatureRatioText(signature({ tracing_ratio: given && [...given] })),
  );
  expect(texts).toEqual(["1.50× (1.25× to 1.75×)", "2.00×", ""]);
});

it("knows the extra time of the trace, if recorded", () => {
  expect(tracingText(trace({ tracing_ns: 45e6 }))).toContain("45.0 ms");
  expect(tracingText(trace({ tracing_ns: null }))).toBe("");
});

it("names the batch of a Keras run", () => {
  const texts = [null, 0, 1, 1999].map((batch) => batchText(trace({ batch })));
  expect(new Set(texts).size).toBe(4);
  expect(texts[0]).toBe("");
  expect(texts[3]).toContain("2,000");
});

it("leaves traced runs out of the untraced ones", () => {
  expect(untraced(signature({ runs: 10, total_ns: 190, traced: 1, traced_ns: 100 }))).toEqual({
    runs: 9,
    ns: 90,
  });
});
