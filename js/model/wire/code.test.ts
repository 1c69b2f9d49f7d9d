import { expect, it } from "vitest";
import { readCode } from "./code";
import { openContainer } from "./container";
import { gzip, type Planned, textColumns, writeContainer } from "./testing/write_container";

const FILES = [
  { name: "Cell [7]", own: true, text: "a = 1\r\nb = f(a)\n", mark: null, note: null },
  { name: "lib.py", own: false, text: null, mark: null, note: null },
];
const numbers = (...values: number[]): Planned => ({ encoding: "shuffle", values: Uint32Array.from(values) });
const columns = {
  // Of stacks 0 to 3: the cell, the library called by it, the library alone, the library called by that.
  code_caller: numbers(1, 1, 3, 1),
  code_frame: numbers(0, 1, 1, 2),
  code_file: numbers(0, 1, 1),
  code_line: numbers(2, 90, 7),
  code_function: numbers(1, 2, 2),
  code_text: numbers(0, 3, 0),
  // Missing, stack 1, stack 3.
  code_stack: numbers(0, 3, 7),
  code_phase: { encoding: "plain", values: Uint8Array.of(0, 2, 0) } as Planned,
  ...textColumns(["", "<module>", "f", "return g()"]),
};

const open = async (code: object | null) =>
  readCode(await openContainer(await gzip(writeContainer({ code }, columns))));

it("has the frames of each event, the innermost first", async () => {
  const code = (await open({ files: FILES, phases: ["forward", "backward"] }))!;
  const stacks = [0, 1, 2].map((row) =>
    code.stack(row).map((frame) => [frame.file.name, frame.line, frame.text]),
  );
  expect(stacks).toEqual([
    [],
    [
      ["lib.py", 90, "return g()"],
      ["Cell [7]", 2, "b = f(a)"],
    ],
    [
      ["lib.py", 7, ""],
      ["lib.py", 90, "return g()"],
    ],
  ]);
  expect([0, 1, 2].map((row) => code.ownFrame(row)?.function)).toEqual([undefined, "<module>", undefined]);
  expect([0, 1, 2].map((row) => code.phase(row))).toEqual(["", "backward", ""]);
});

it("knows all lines of files sent whole, and of others those on stacks", async () => {
  const code = (await open({ files: FILES, phases: [] }))!;
  expect(code.files.map((file) => [...code.text(file)])).toEqual([
    [
      [1, "a = 1"],
      [2, "b = f(a)"],
    ],
    [
      [7, "… in f"],
      [90, "return g()"],
    ],
  ]);
});

it("is missing where no stacks were recorded", async () => {
  expect(await open(null)).toBeNull();
});
