/** Takes a column out of a container and says plainly when it is not as agreed. */
import type { Column, Container } from "./container";

type Constructor = abstract new (...args: never[]) => Column;

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

/** The same numbers with at least 16 bits an item. */
export function wide(column: Uint8Array | Uint16Array | Uint32Array): Uint16Array | Uint32Array {
  return column instanceof Uint8Array ? Uint16Array.from(column) : column;
}
