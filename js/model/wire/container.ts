/** Opens the byte container in which Python sends a trace: gzip around a JSON header and binary columns. */
import { decodeColumn, type Encoding, isEncoding, itemBytes, type WireColumn } from "./columns";
import { Strings } from "./string_table";

export type { WireColumn } from "./columns";
export { Strings };

export interface Container {
  header: Record<string, unknown>;
  /** The column with this name, decoded on first use; undefined when it was not sent. */
  column(name: string): WireColumn | undefined;
}

interface Placed {
  encoding: Encoding;
  length: number;
  bytes: Uint8Array<ArrayBuffer>;
}

const MAGIC = 0x31564654; // "TFV1", little endian
const VERSION = 2;

/**
 * Unpack one container. Rejects with an Error that names the fault: not
 * gzip, truncated, not a container, of another version, a column out of bounds.
 */
export async function openContainer(gzip: Uint8Array): Promise<Container> {
  const bytes = await gunzip(gzip);
  if (bytes.length < 8) throw new Error(`the trace data is truncated: ${bytes.length} bytes, no header`);
  const view = new DataView(bytes.buffer);
  if (view.getUint32(0, true) !== MAGIC)
    throw new Error("the trace data is not a tfvis container (bad magic)");
  const dataStart = 8 + view.getUint32(4, true);
  if (dataStart > bytes.length) throw new Error("the trace data is truncated inside its header");
  const header = parseHeader(bytes.subarray(8, dataStart));
  const { version, columns } = header;
  if (version !== VERSION) {
    throw new Error(
      `the trace data has format version ${String(version)}; this viewer reads version ${VERSION}`,
    );
  }
  const storedColumns = placeColumns(columns, bytes, dataStart);
  const decoded = new Map<string, WireColumn>();
  return {
    header,
    column(name) {
      let column = decoded.get(name);
      const stored = storedColumns.get(name);
      if (column === undefined && stored !== undefined) {
        column = decodeColumn(stored.encoding, stored.bytes, stored.length);
        decoded.set(name, column);
      }
      return column;
    },
  };
}

type Constructor = abstract new (...args: never[]) => WireColumn;

/** The types of whole numbers, of which some may exceed 32 bits. */
export const NUMBERS = [Uint32Array, Float64Array] as const;

/** The column `name`, of one of `types` and, unless null, of `length` items; throws an Error otherwise. */
export function oneOf<C extends Constructor>(
  container: Container,
  name: string,
  length: number | null,
  types: readonly C[],
): InstanceType<C> {
  const column = container.column(name);
  if (column === undefined) throw new Error(`the trace data has no column "${name}"`);
  if (length !== null && column.length !== length) {
    throw new Error(`column "${name}" has ${column.length} items instead of ${length}`);
  }
  if (!types.some((type) => column instanceof type)) {
    throw new Error(`column "${name}" has an unexpected type (${column.constructor.name})`);
  }
  return column as InstanceType<C>;
}

/** The table of texts in a container. */
export function stringsIn(container: Container): Strings {
  return new Strings(
    oneOf(container, "strings_bytes", null, [Uint8Array]),
    oneOf(container, "strings_offsets", null, [Uint32Array]),
  );
}

/** The same numbers with at least 16 bits an item. */
export function wide(column: Uint8Array | Uint16Array | Uint32Array): Uint16Array | Uint32Array {
  return column instanceof Uint8Array ? Uint16Array.from(column) : column;
}

async function gunzip(gzip: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  if (gzip.length === 0) throw new Error("the trace data is empty");
  if (gzip[0] !== 0x1f || gzip[1] !== 0x8b) throw new Error("the trace data is not gzip");
  // A copy is made only of what Blob cannot take: bytes over shared memory.
  const part = gzip.buffer instanceof ArrayBuffer ? (gzip as Uint8Array<ArrayBuffer>) : new Uint8Array(gzip);
  const plain = new Blob([part]).stream().pipeThrough(new DecompressionStream("gzip"));
  try {
    return new Uint8Array(await new Response(plain).arrayBuffer());
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`the trace data is truncated or damaged: gzip: ${reason}`);
  }
}

function parseHeader(bytes: Uint8Array): Record<string, unknown> {
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new Error(`the header of the trace data is not JSON: ${error.message}`);
    throw error;
  }
  if (!isObject(header)) throw new Error("the header of the trace data is not a JSON object");
  return header;
}

function placeColumns(
  described: unknown,
  bytes: Uint8Array<ArrayBuffer>,
  dataStart: number,
): Map<string, Placed> {
  const storedColumns = new Map<string, Placed>();
  if (!isObject(described)) throw new Error("the header of the trace data describes no columns");
  for (const [name, entry] of Object.entries(described)) {
    if (!isObject(entry)) throw new Error(`column "${name}" is not described by an object`);
    const { dtype, encoding, length, offset } = entry;
    const code = `${String(dtype)} ${String(encoding)}`;
    if (!isEncoding(code)) throw new Error(`column "${name}" has the unknown dtype and encoding "${code}"`);
    if (!isCount(length) || !isCount(offset))
      throw new Error(`column "${name}" has no proper length and offset`);
    const start = dataStart + offset;
    const size = length * itemBytes(code);
    if (start + size > bytes.length) {
      throw new Error(
        `column "${name}" needs bytes ${start} to ${start + size}, but the trace data ends at ${bytes.length}`,
      );
    }
    if (start % itemBytes(code) !== 0) throw new Error(`column "${name}" is not aligned`);
    storedColumns.set(name, { encoding: code, length, bytes: bytes.subarray(start, start + size) });
  }
  return storedColumns;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
