import { expect, it } from "vitest";
import { inputsIn } from "./event_text";

it.each([
  ["[cpu 0.5MB 0.5MB] Relu = _MklMatMul(x/_5, w:1, ^init, ^y)", ["x/_5", "w:1"]],
  ["_SOURCE = NoOp()", []],
  ["a = Op(^b)", []],
  ["[1.5MB] [3.0Gb/s] edge_18_w from /job:ps to /job:worker", []],
  ["", []],
])("the inputs of %j", (label, inputs) => {
  expect(inputsIn(label)).toEqual(inputs);
});
