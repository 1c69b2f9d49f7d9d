/** Decodes one binary column. All numbers are little endian, as is every machine a browser runs on. */

export type WireColumn = Uint8Array | Uint16Array | Uint32Array | Float64Array;

type Decoder = (bytes: Uint8Array<ArrayBuffer>, length: number) => WireColumn;

// "shuffle" puts all first bytes of the items before all second bytes and so
// on; "delta" keeps differences to the item before. Both only help gzip.
const DECODERS = {
  "u8 plain": (bytes) => bytes,
  "u8 shuffle": (bytes) => bytes,
  "u8 delta-shuffle": (bytes) => accumulate(bytes.slice()),
  "u16 plain": (bytes, length) => new Uint16Array(bytes.buffer, bytes.byteOffset, length),
  "u16 shuffle": unshuffle16,
  "u16 delta-shuffle": (bytes, length) => accumulate(unshuffle16(bytes, length)),
  "u32 plain": (bytes, length) => new Uint32Array(bytes.buffer, bytes.byteOffset, length),
  "u32 shuffle": unshuffle32,
  "u32 delta-shuffle": (bytes, length) => accumulate(unshuffle32(bytes, length)),
  "f64 plain": (bytes, length) => new Float64Array(bytes.buffer, bytes.byteOffset, length),
  "f64 shuffle": unshuffle64,
} satisfies Record<string, Decoder>;

/** A dtype and an encoding, such as "u32 delta-shuffle". */
export type Encoding = keyof typeof DECODERS;

export function isEncoding(code: string): code is Encoding {
  return Object.hasOwn(DECODERS, code);
}

/** Bytes of one item. */
export function itemBytes(encoding: Encoding): number {
  if (encoding.startsWith("u8")) return 1;
  if (encoding.startsWith("u16")) return 2;
  return encoding.startsWith("u32") ? 4 : 8;
}

/** The items of a column of `length` items; a plain column is a view of `bytes`. */
export function decodeColumn(encoding: Encoding, bytes: Uint8Array<ArrayBuffer>, length: number): WireColumn {
  return DECODERS[encoding](bytes, length);
}

function unshuffle16(bytes: Uint8Array, length: number): Uint16Array {
  const out = new Uint16Array(length);
  for (let i = 0; i < length; i++) out[i] = bytes[i] | (bytes[length + i] << 8);
  return out;
}

function unshuffle32(bytes: Uint8Array, length: number): Uint32Array {
  const out = new Uint32Array(length);
  for (let i = 0; i < length; i++) out[i] = word(bytes, i, length);
  return out;
}

function unshuffle64(bytes: Uint8Array, length: number): Float64Array {
  const halves = new Uint32Array(length * 2);
  const high = bytes.subarray(length * 4);
  for (let i = 0; i < length; i++) {
    halves[2 * i] = word(bytes, i, length);
    halves[2 * i + 1] = word(high, i, length);
  }
  return new Float64Array(halves.buffer);
}

function word(bytes: Uint8Array, at: number, stride: number): number {
  return (
    bytes[at] | (bytes[stride + at] << 8) | (bytes[2 * stride + at] << 16) | (bytes[3 * stride + at] << 24)
  );
}

// Unsigned items wrap modulo 2^bits in the typed array itself, which is how the
// differences were taken.
function accumulate<T extends WireColumn>(items: T): T {
  for (let i = 1; i < items.length; i++) items[i] += items[i - 1];
  return items;
}
