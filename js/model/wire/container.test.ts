import { describe, expect, it } from "vitest";
import { openContainer, Strings } from "./container";
import { makeStrings, randomNumbers } from "./testing/synthetic";
import { gzip, type Planned, writeContainer } from "./testing/write_container";

async function roundTrip(planned: Planned) {
  const container = await openContainer(await gzip(writeContainer({}, { before: one, column: planned })));
  return container.column("column");
}

const one: Planned = { encoding: "plain", values: Uint8Array.of(7) };

function integers(length: number, limit: number): number[] {
  const random = randomNumbers(length + 1);
  return Array.from({ length }, () => Math.floor(random() * limit));
}

describe("openContainer", () => {
  const lengths = [0, 1, 2, 7, 1000];
  const cases: [string, Planned["encoding"], (length: number) => Planned["values"]][] = [
    ["u8", "plain", (length) => Uint8Array.from(integers(length, 256))],
    ["u8", "shuffle", (length) => Uint8Array.from(integers(length, 256))],
    ["u8", "delta-shuffle", (length) => Uint8Array.from(integers(length, 256))],
    ["u16", "plain", (length) => Uint16Array.from(integers(length, 65536))],
    ["u16", "shuffle", (length) => Uint16Array.from(integers(length, 65536))],
    ["u16", "delta-shuffle", (length) => Uint16Array.from(integers(length, 65536))],
    ["u32", "plain", (length) => Uint32Array.from(integers(length, 2 ** 32))],
    ["u32", "shuffle", (length) => Uint32Array.from(integers(length, 2 ** 32))],
    ["u32", "delta-shuffle", (length) => Uint32Array.from(integers(length, 2 ** 32))],
    ["f64", "plain", (length) => Float64Array.from(integers(length, 2 ** 53), (value) => value / 3)],
    ["f64", "shuffle", (length) => Float64Array.from(integers(length, 2 ** 53), (value) => value / 3)],
  ];
  it.each(cases)("gives back %s %s columns", async (_, encoding, make) => {
    for (const length of lengths) {
      const values = make(length);
      const read = await roundTrip({ encoding, values });
      expect(read?.constructor).toBe(values.constructor);
      expect([...(read ?? [])]).toEqual([...values]);
    }
  });

  it("keeps NaN and the header, and knows no other column", async () => {
    const values = Float64Array.of(Number.NaN, -0.5, Number.NaN);
    const bytes = await gzip(
      writeContainer({ title: "λ </script>" }, { some: { encoding: "shuffle", values } }),
    );
    const container = await openContainer(bytes);
    expect(container.header).toMatchObject({ title: "λ </script>" });
    expect(container.column("some")).toEqual(values);
    expect(container.column("other")).toBeUndefined();
    expect(container.column("toString")).toBeUndefined();
  });

  it("reads bytes that lie inside of a larger buffer", async () => {
    const bytes = await gzip(writeContainer({}, { one }));
    const larger = new Uint8Array(bytes.length + 20);
    larger.set(bytes, 13);
    const container = await openContainer(larger.subarray(13, 13 + bytes.length));
    expect(container.column("one")).toEqual(Uint8Array.of(7));
  });

  it("explains why bytes are not a container", async () => {
    const whole = await gzip(
      writeContainer({}, { column: { encoding: "plain", values: new Uint32Array(5000) } }),
    );
    const plain = writeContainer({}, { one });
    const wrongMagic = plain.slice();
    wrongMagic[3] = 0x32;
    const longHeader = plain.slice();
    new DataView(longHeader.buffer).setUint32(4, 1e9, true);
    const notJson = plain.slice();
    notJson[8] = 0x5d;
    await expect(openContainer(new Uint8Array(0))).rejects.toThrow("is empty");
    await expect(openContainer(plain)).rejects.toThrow("not gzip");
    await expect(openContainer(whole.subarray(0, whole.length - 9))).rejects.toThrow("truncated or damaged");
    await expect(openContainer(await gzip(plain.subarray(0, 5)))).rejects.toThrow("truncated: 5 bytes");
    await expect(openContainer(await gzip(wrongMagic))).rejects.toThrow("bad magic");
    await expect(openContainer(await gzip(longHeader))).rejects.toThrow("inside its header");
    await expect(openContainer(await gzip(notJson))).rejects.toThrow("not JSON");
    await expect(openContainer(await gzip(writeContainer({ version: 1 }, {})))).rejects.toThrow(
      "format version 1; this viewer reads version 2",
    );
  });

  it.each([
    [{ dtype: "u32", encoding: "plain", length: 3, offset: 0 }, "needs bytes"],
    [{ dtype: "u32", encoding: "plain", length: 1, offset: 2 }, "not aligned"],
    [{ dtype: "u32", encoding: "plain", length: -1, offset: 0 }, "no proper length"],
    [{ dtype: "u32", encoding: "plain", length: 1.5, offset: 0 }, "no proper length"],
    [{ dtype: "i64", encoding: "plain", length: 1, offset: 0 }, 'dtype and encoding "i64 plain"'],
    [{ dtype: "f64", encoding: "delta-shuffle", length: 1, offset: 0 }, "dtype and encoding"],
    [7, "not described by an object"],
  ])("refuses the column %j", async (described, message) => {
    const json = new TextEncoder().encode(JSON.stringify({ version: 2, columns: { bad: described } }));
    const bytes = new Uint8Array(8 + json.length + (-json.length & 7) + 8).fill(0x20);
    bytes.set(new TextEncoder().encode("TFV1"));
    new DataView(bytes.buffer).setUint32(4, bytes.length - 16, true);
    bytes.set(json, 8);
    await expect(openContainer(await gzip(bytes))).rejects.toThrow(message);
  });
});

describe("Strings", () => {
  it.each([
    [["", "a", "", "tower_0/conv", "b"]],
    [["é", "", "\ufefftower", "😀/😀", "\u0000", "</script>"]],
    [[]],
  ])("gives back %j", (texts) => {
    const strings = makeStrings(texts);
    expect(strings.length).toBe(texts.length);
    for (let round = 0; round < 2; round++) expect(texts.map((_, id) => strings.get(id))).toEqual(texts);
  });

  it("hashes names that differ in digits alike, and others apart", () => {
    const strings = makeStrings(["conv2d_1/Conv2D", "conv2d_27/Conv2D", "conv2d_1/MatMul"]);
    expect(strings.digitlessHash(0)).toBe(strings.digitlessHash(1));
    expect(strings.digitlessHash(0)).not.toBe(strings.digitlessHash(2));
  });

  it("refuses offsets that do not fit", () => {
    expect(() => new Strings(new Uint8Array(3), Uint32Array.of(0, 4))).toThrow("beyond the 3 bytes");
    expect(() => new Strings(new Uint8Array(3), Uint32Array.of(2, 1))).toThrow("ends before it begins");
  });
});
