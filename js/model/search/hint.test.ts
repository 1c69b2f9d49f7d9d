import { expect, it } from "vitest";
import { makeDrawn } from "../wire/testing/synthetic";
import { searchHint } from "./hint";
import { parseQuery } from "./query";

const drawn = makeDrawn([
  { start: 0, duration: 1, category: 0 },
  { start: 1, duration: 1, category: 1 },
]);
drawn.categories = ["op launch", "kernel device_compute", "memset copy_d2d"];

const hint = (text: string, isFound = false) =>
  // Isolates keep words that run from right to left to themselves.
  searchHint(parseQuery(text), isFound, drawn)?.replace(/[\u2066-\u2069]/g, "") ?? null;

it.each([
  ["dur:abc", "Cannot read dur:abc. Write dur:>5ms or dur:<10us."],
  ["dur:>", "Cannot read dur:>. Write dur:>5ms or dur:<10us."],
  [
    "bytes:big MatMul step:soon",
    "Cannot read bytes:big, step:soon. Write bytes:>1MB or bytes:<4KiB; step:3 or",
  ],
  ["colour:red", "Unknown filter colour:. Filters: name: op:"],
  ["kind:nosuch", 'Kinds in this trace: op, launch, kernel, "device compute"'],
  ["kind:kern (", "Words are searched"],
  ["kind:laun (", "Words are searched"],
  ["kind:memset", "Kinds in this trace"],
  ["((", "Words are searched in names, ops, lanes, tensors and kernels. Filters: name: op:"],
])("suggests what to type instead of %s", (text, said) => {
  expect(hint(text)).toContain(said);
});

it("is null if something is found, unless a word cannot be read", () => {
  expect(["MatMul", "gradients:0"].map((text) => hint(text, true))).toEqual([null, null]);
  expect(hint("MatMul|dur:abc", true)).toContain("dur:abc");
});
