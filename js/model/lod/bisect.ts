/** Binary search in sorted numbers. */

type Sorted = Float64Array | Uint32Array | readonly number[];

/** The first index whose item is >= `value`; the length when there is none. */
export function firstAtLeast(items: Sorted, value: number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (items[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first index whose item is > `value`; the length when there is none. */
export function firstAbove(items: Sorted, value: number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (items[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
