/** Assembles event names; Python sends each scope once. */
import { type Container, oneOf, Strings } from "./container";

const SLASH = 0x2f;

/** Texts that begin with another text: `above` is 0, or one more than the number of the text before the slash. */
interface Tree {
  bytes: Uint8Array;
  offsets: Uint32Array;
}

/** The distinct names of a trace. */
export function readNames(container: Container): Strings {
  const parts = new Strings(
    oneOf(container, "parts_bytes", null, [Uint8Array]),
    oneOf(container, "parts_offsets", null, [Uint32Array]),
  );
  const parents = oneOf(container, "scope_parent", null, [Uint32Array]);
  const scopes = grow(null, parents, oneOf(container, "scope_part", parents.length, [Uint32Array]), parts);
  const above = oneOf(container, "name_scope", null, [Uint32Array]);
  const names = grow(scopes, above, oneOf(container, "name_part", above.length, [Uint32Array]), parts);
  return new Strings(names.bytes, names.offsets);
}

/** Joins each text's last part to its parent: one of `trees`, or an earlier text of the same kind if that is null. */
function grow(trees: Tree | null, above: Uint32Array, part: Uint32Array, parts: Strings): Tree {
  const offsets = new Uint32Array(above.length + 1);
  const from = trees?.offsets ?? offsets;
  for (let i = 0; i < above.length; i++) {
    const known = trees === null ? i : from.length - 1;
    if (above[i] > known || part[i] >= parts.length)
      throw new Error(`name ${i} is made of parts that are missing`);
    const head = above[i] === 0 ? 0 : from[above[i]] - from[above[i] - 1] + 1;
    offsets[i + 1] = offsets[i] + head + parts.offsets[part[i] + 1] - parts.offsets[part[i]];
  }
  const bytes = new Uint8Array(offsets[above.length]);
  const source = trees?.bytes ?? bytes;
  for (let i = 0; i < above.length; i++) {
    let at = offsets[i];
    if (above[i] !== 0) {
      at = copy(source, from[above[i] - 1], from[above[i]], bytes, at);
      bytes[at++] = SLASH;
    }
    copy(parts.bytes, parts.offsets[part[i]], parts.offsets[part[i] + 1], bytes, at);
  }
  return { bytes, offsets };
}

/** Copies some twenty bytes, for which a loop is quicker than making a view and copying that. */
function copy(source: Uint8Array, from: number, to: number, target: Uint8Array, at: number): number {
  for (let i = from; i < to; i++) target[at++] = source[i];
  return at;
}
