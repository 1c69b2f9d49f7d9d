/** Writes containers in the slow, obvious way, so that tests can read back known values. */
import type { WireColumn } from "../columns";

export interface Planned {
  encoding: "plain" | "shuffle" | "delta-shuffle";
  values: WireColumn;
}

/** An ungzipped container with this header and these columns. */
export function writeContainer(
  header: Record<string, unknown>,
  columns: Record<string, Planned>,
): Uint8Array<ArrayBuffer> {
  const described: Record<string, unknown> = {};
  const blocks: Uint8Array[] = [];
  let offset = 0;
  for (const [name, { encoding, values }] of Object.entries(columns)) {
    const bytes = encode(values, encoding);
    described[name] = { dtype: dtypeOf(values), length: values.length, offset, encoding };
    blocks.push(bytes, new Uint8Array(-bytes.length & 7));
    offset += bytes.length + (-bytes.length & 7);
  }
  const json = new TextEncoder().encode(JSON.stringify({ version: 2, ...header, columns: described }));
  const padding = new Uint8Array(-json.length & 7).fill(0x20);
  const front = new Uint8Array(8);
  front.set(new TextEncoder().encode("TFV1"));
  new DataView(front.buffer).setUint32(4, json.length + padding.length, true);
  return join([front, json, padding, ...blocks]);
}

export async function gzip(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The two columns of a table of texts. */
export function textColumns(texts: readonly string[]): Record<"strings_bytes" | "strings_offsets", Planned> {
  const parts = texts.map((text) => new TextEncoder().encode(text));
  const offsets = new Uint32Array(texts.length + 1);
  parts.forEach((part, i) => {
    offsets[i + 1] = offsets[i] + part.length;
  });
  return {
    strings_bytes: { encoding: "plain", values: join(parts) },
    strings_offsets: { encoding: "delta-shuffle", values: offsets },
  };
}

function dtypeOf(values: WireColumn): string {
  if (values instanceof Float64Array) return "f64";
  return `u${values.BYTES_PER_ELEMENT * 8}`;
}

function encode(values: WireColumn, encoding: Planned["encoding"]): Uint8Array {
  const items = values.slice();
  if (encoding.startsWith("delta")) for (let i = items.length - 1; i > 0; i--) items[i] -= items[i - 1];
  const bytes = new Uint8Array(items.buffer);
  if (encoding === "plain") return bytes;
  const size = values.BYTES_PER_ELEMENT;
  return bytes.map((_, at) => bytes[(at % values.length) * size + Math.floor(at / values.length)]);
}

function join(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
