/** Changes of a session since it was last read. */

import type { MonitorState, TraceRow } from "./host";

/** A rate is taken over at least this long: counts come about once a second, and not at even distances. */
const RATE_OVER_MS = 3000;

/** Traces that have come, newest first. */
export function newTraces(before: MonitorState | null, after: MonitorState): TraceRow[] {
  if (!before) return [];
  const known = new Set(before.traces.map((row) => row.trace));
  // Older ones come into a list of the newest when some of those are deleted.
  const newest = Math.max(0, ...known);
  return after.traces.filter((row) => row.trace > newest);
}

/** The new traces that were requested, by signature or for whatever runs next. */
export function awaited(before: MonitorState | null, after: MonitorState): TraceRow[] {
  if (!before) return [];
  const requested = new Set(before.signatures.filter((row) => row.requested > 0).map((row) => row.signature));
  return newTraces(before, after).filter((row) => before.requested > 0 || requested.has(row.signature));
}

/** Counts how many runs end in a second. */
export class Rate {
  #samples: { at: number; runs: number }[] = [];

  seen(state: MonitorState): void {
    this.#samples.push({ at: state.now_ms, runs: state.runs_total });
    const last = state.now_ms;
    while (this.#samples.length > 2 && last - this.#samples[1].at >= RATE_OVER_MS) this.#samples.shift();
  }

  /** Runs per second, 0 without recent runs; null before the second state. */
  at(nowMs: number): number | null {
    const first = this.#samples[0];
    const last = this.#samples.at(-1);
    if (!first || !last || last.at <= first.at) return null;
    // If no run ends, no new state arrives.
    const until = nowMs - last.at > RATE_OVER_MS ? nowMs : last.at;
    const rate = (1000 * Math.max(last.runs - first.runs, 0)) / (until - first.at);
    return nowMs - last.at > 4 * RATE_OVER_MS ? 0 : rate;
  }
}
