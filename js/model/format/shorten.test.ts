import { describe, expect, it, vi } from "vitest";
import { randomNumbers } from "../wire/testing/synthetic";
import { cutEnd, cutInside, shorten } from "./shorten";

const name = "gradients/tower_0/layer_3/MatMul_1_grad/MatMul_1";

describe("shorten", () => {
  it.each([
    [name, 48, name],
    [name, 47, "gradients/…/layer_3/MatMul_1_grad/MatMul_1"],
    [name, 41, "gradients/…/MatMul_1_grad/MatMul_1"],
    [name, 33, "gradients/tower_0/…/MatMul_1"],
    [name, 27, "gradients/…/MatMul_1"],
    [name, 19, "…/MatMul_1"],
    [name, 9, "MatMul_1"],
    [name, 8, "MatMul_1"],
    [name, 7, ""],
    [name, 0, ""],
    ["TFE_Py_FastPathExecute", 8, "TFE_P…te"],
    ["ab", 2, "ab"],
    ["scope/op", 7, "…/op"],
    ["scope/op", 3, "op"],
    ["convolution", 9, "convol…on"],
    ["convolution", 7, ""],
    ["trailing/scope/", 9, "traili…e/"],
    ["/leading/op", 9, "/…/op"],
  ])("%s in %i columns is %s", (text, columns, short) => {
    expect(shorten(text, columns)).toBe(short);
  });

  it("never exceeds the room nor parts a surrogate pair", () => {
    const random = randomNumbers(5);
    const alphabet = ["a", "B_", "7", "/", "//", "😀", "é", "/😀😀"];
    for (let n = 0; n < 3000; n++) {
      const text = Array.from({ length: random() * 30 }, () => alphabet[Math.floor(random() * 8)]).join("");
      const columns = Math.floor(random() * 40);
      const short = shorten(text, columns);
      expect(short.length).toBeLessThanOrEqual(columns);
      expect(short).not.toMatch(/\p{Surrogate}/u);
      if (columns >= 8 && text !== "") expect(short).not.toBe("");
      const [head, tail, ...more] = short.split("…");
      expect(more).toEqual([]);
      expect(text).toContain(head);
      if (tail !== undefined) expect(text.endsWith(tail)).toBe(true);
    }
  });

  it("reads no more of a long name than it needs", () => {
    const long = `${"scope_with_a_name/".repeat(600)}op`;
    expect(shorten(long, 30)).toBe("scope_with_a_name/…/op");
    expect(shorten("x".repeat(10_000), 9)).toBe("xxxxxx…xx");
  });
});

describe("cutEnd", () => {
  const letters = (text: string) => [...text].length;

  it.each([
    ["kernel", 6, "kernel"],
    ["kernel", 5, "kern…"],
    ["kernel", 2, "k…"],
    ["kernel", 1, ""],
    ["kernel", -3, ""],
    ["", 0, ""],
    ["😀😀😀", 2, "😀…"],
  ])("%s in %i letters is %j", (text, room, cut) => {
    expect(cutEnd(text, room, letters)).toBe(cut);
  });

  it.each([
    ["copy H2D", 8, "copy H2D"],
    ["copy H2D", 6, "copy…D"],
    ["copy H2D", 2, "c…"],
    ["copy H2D", 1, ""],
    ["", 0, ""],
  ])("inside %s in %i letters is %j", (text, room, cut) => {
    expect(cutInside(text, room, letters)).toBe(cut);
  });

  it("measures a long name only a few times", () => {
    const measured = vi.fn(letters);
    expect(cutEnd("x".repeat(10_000), 9, measured)).toBe("xxxxxxxx…");
    expect(measured.mock.calls.length).toBeLessThan(20);
  });
});
