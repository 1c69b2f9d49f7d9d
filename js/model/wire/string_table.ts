/**
 * A table of texts: one UTF-8 blob with offsets; text `i` is bytes `offsets[i]` to `offsets[i + 1]`.
 *
 * Nothing is decoded before it is asked for: a trace of a million events has
 * some 100,000 names, and a screen shows a hundred.
 */
export class Strings {
  readonly bytes: Uint8Array;
  readonly offsets: Uint32Array;
  readonly length: number;
  #whole: string | null | undefined;
  readonly #cache = new Map<number, string>();

  constructor(bytes: Uint8Array, offsets: Uint32Array) {
    this.bytes = bytes;
    this.offsets = offsets;
    this.length = Math.max(0, offsets.length - 1);
    for (let i = 0; i < this.length; i++) {
      if (offsets[i + 1] < offsets[i]) throw new Error(`text ${i} ends before it begins`);
    }
    if (this.length > 0 && offsets[this.length] > bytes.length) {
      throw new Error(`text ${this.length - 1} reaches beyond the ${bytes.length} bytes of text`);
    }
  }

  /** The text with this number. */
  get(id: number): string {
    const from = this.offsets[id];
    const to = this.offsets[id + 1];
    if (this.whole !== null) return this.whole.slice(from, to);
    let text = this.#cache.get(id);
    if (text === undefined) {
      text = decoder.decode(this.bytes.subarray(from, to));
      this.#cache.set(id, text);
    }
    return text;
  }

  /**
   * All texts end to end when they are ASCII, so that byte offsets are
   * character offsets; null otherwise. Decoding once is far cheaper than once a text.
   */
  get whole(): string | null {
    if (this.#whole === undefined) {
      this.#whole = isAscii(this.bytes) ? decoder.decode(this.bytes) : null;
    }
    return this.#whole;
  }

  /** A 32-bit hash (FNV-1a) of the text without its digits, so that `conv2d_1` and `conv2d_2` share one. */
  digitlessHash(id: number): number {
    return hashBytes(this.bytes, this.offsets[id], this.offsets[id + 1]);
  }
}

/** The hash of `Strings.digitlessHash` for a text that is not in a table. */
export function digitlessHash(text: string): number {
  const bytes = new TextEncoder().encode(text);
  return hashBytes(bytes, 0, bytes.length);
}

// A byte order mark inside a name is part of the name.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

function isAscii(bytes: Uint8Array): boolean {
  let all = 0;
  for (let i = 0; i < bytes.length; i++) all |= bytes[i];
  return all < 0x80;
}

function hashBytes(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let i = from; i < to; i++) {
    const byte = bytes[i];
    if (byte >= 0x30 && byte <= 0x39) continue;
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  // FNV's low bits mix badly for short texts, and callers take remainders.
  return (hash ^ (hash >>> 15)) >>> 0;
}
