import { expect, test } from "vitest";
import { scopedParts } from "./scoped_text";

test.each([
  ["worker0/MatMul_1/ReadVariableOp", ["worker0/", "MatMul_1/", "ReadVariableOp"]],
  ["inception/Conv2DBackpropFilter", ["inception/", "Conv2DBackprop", "Filter"]],
  ["communication 38.2 %, copy D2H 0.6 %", ["communication 38.2 %, copy D2H 0.6 %"]],
  ["a/".repeat(200), ["a/".repeat(200)]],
])("%s breaks between its parts", (text, parts) => {
  expect(scopedParts(text)).toEqual(parts);
});
