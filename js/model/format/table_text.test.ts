import { describe, expect, it } from "vitest";
import { csvText, markdownText } from "./table_text";

describe("a table as text", () => {
  it("is CSV in which nothing is a formula and every row has its columns", () => {
    expect(
      csvText(
        ["name", "self_ns"],
        [
          ["=a,b", 12],
          ['say "x"', null],
          ["-1", -1],
        ],
      ),
    ).toBe('name,self_ns\n"\'=a,b",12\n"say ""x""",\n\'-1,-1\n');
  });

  it("is Markdown in which a name is neither a cell's end nor markup", () => {
    const text = markdownText(["Op", "Self"], [["a|b\n<i>_x_", "2 ms"]], (column) => column === 0);
    expect(text).toBe("| Op | Self |\n| --- | ---: |\n| a\\|b \\<i\\>\\_x\\_ | 2 ms |\n");
  });
});
