import { expect, it } from "vitest";
import { inputsIn, scopesToTell, shortName } from "./event_text";

it.each([
  ["[cpu 0.5MB 0.5MB] Relu = _MklMatMul(x/_5, w:1, ^init, ^y)", ["x/_5", "w:1"]],
  ["_SOURCE = NoOp()", []],
  ["a = Op(^b)", []],
  ["[1.5MB] [3.0Gb/s] edge_18_w from /job:ps to /job:worker", []],
  ["", []],
])("the inputs of %j", (label, inputs) => {
  expect(inputsIn(label)).toEqual(inputs);
});

it("names are distinguished by the fewest scopes possible", () => {
  const names = ["net/block1/left/conv", "net/block2/left/conv", "relu"];
  const scopes = scopesToTell([...names, ...names]);
  expect(names.map((name) => shortName(name, scopes))).toEqual([
    "…/block1/left/conv",
    "…/block2/left/conv",
    "relu",
  ]);
  expect(scopesToTell(["net/block1/left/conv", "net/block1/right/conv"])).toBe(2);
  expect(scopesToTell(["a/b/c/d/e", "x/b/c/d/e"])).toBe(5);
});
