import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { COMMANDS } from "./commands";

it("have keys of their own", () => {
  const codes = COMMANDS.flatMap(({ run, hold }) => Object.keys({ ...run, ...hold }));
  expect(new Set(codes).size).toBe(codes.length);
});

it("are in docs/timeline.md as the help has them", () => {
  const page = readFileSync(new URL("../../docs/timeline.md", import.meta.url), "utf8");
  const [, section] = page.split("## Keys and gestures\n");
  const rows = [...section.split("\n## ")[0].matchAll(/^\| `(.+)` \| (.+) \|$/gm)].map(([, ...row]) => row);
  expect(rows.length).toBeGreaterThan(12);
  const keys = new Set(rows.map(([each]) => each));
  expect(rows).toEqual(
    COMMANDS.filter((each) => keys.has(each.keys)).map(({ keys, label }) => [keys, label]),
  );
});
