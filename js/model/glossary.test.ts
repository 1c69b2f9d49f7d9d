import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { documentation } from "../../tfvis_nb/core/glossary.json";
import { laneMeaning, meaningOf } from "./glossary";

it.each([
  ["ops", "op", "ops"],
  ["stream:13", "kernel", "stream"],
  ["stream:14", "collective", "stream"],
  ["memcpy H2D", "memcpy", "copy H2D"],
  ["memcpy P2P", "memcpy", "memcpy"],
  ["memset", "memset", "memset"],
  ["recv", "transfer", "receive"],
  ["collective", "collective", "collective"],
  ["sync", "sync", "sync"],
  ["tf_Compute/4711", "op", "thread"],
  ["python", "host", "thread"],
  ["negotiate", "sync", "negotiate"],
  ["rank ready", "sync", "rank ready"],
  ["activities", "host", "activities"],
  ["cycles", "sync", "cycles"],
])("the lane %s of kind %s is explained as %s", (lane, kind, term) => {
  expect(meaningOf(term)).toBeDefined();
  expect(laneMeaning({ lane, kind })).toBe(meaningOf(term));
});

it("has every explained term of the details among its tooltips", () => {
  const folder = "js/view/details";
  const source = readdirSync(folder).map((file) => readFileSync(`${folder}/${file}`, "utf8"));
  const terms = [...source.join("").matchAll(/\[\s*"([A-Z][^"]+)",/g)].map(([, term]) => term.toLowerCase());
  expect(terms.length).toBeGreaterThan(10);
  expect(terms.filter((term) => term in documentation)).toEqual([]);
});
