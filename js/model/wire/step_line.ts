/** A value that changes in steps, such as that of a counter or the bytes of an allocator. */

export interface StepLine {
  /** When it changes, in nanoseconds from the origin, and to what. */
  times: Float64Array;
  levels: Uint32Array | Float64Array;
}
