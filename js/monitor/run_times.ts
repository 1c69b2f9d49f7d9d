/** How long runs took over time: means of the untraced ones between two states of a session, and the traced runs. */

import type { MonitorState, SignatureRow, TraceRow } from "../model/wire/schema";
import { untraced } from "./tracing_cost";

/** More intervals than a small chart has room for are joined in pairs. */
const MAX_INTERVALS = 120;

/**
 * The untraced runs of a signature that ended between two times (epoch ms), and how long they took together.
 */
interface Interval {
  from: number;
  to: number;
  runs: number;
  ns: number;
}

/** Keeps the intervals of each signature. The time before the first state is one interval. */
export class RunTimes {
  readonly #intervals = new Map<number, Interval[]>();
  readonly #last = new Map<number, SignatureRow>();

  seen({ signatures, now_ms }: MonitorState): void {
    for (const row of signatures) {
      const before = this.#last.get(row.signature);
      if (before?.runs === row.runs) continue;
      const known = this.#intervals.get(row.signature) ?? [];
      // Counts that went back are those of another file.
      const isNew = !before || row.runs < before.runs;
      const from = (isNew ? row.first_ms : known.at(-1)?.to) ?? now_ms;
      const to = Math.max(row.last_ms ?? now_ms, from);
      const [now, then] = [untraced(row), isNew ? { runs: 0, ns: 0 } : untraced(before)];
      const [runs, ns] = [now.runs - then.runs, now.ns - then.ns];
      this.#last.set(row.signature, row);
      if (runs <= 0) continue;
      const all = [...(isNew ? [] : known), { from, to, runs, ns }];
      this.#intervals.set(row.signature, all.length > MAX_INTERVALS ? joined(all) : all);
    }
  }

  of(signature: number): readonly Interval[] {
    return this.#intervals.get(signature) ?? [];
  }
}

function joined(all: readonly Interval[]): Interval[] {
  return all.flatMap((one, at) => {
    if (at % 2 === 1) return [];
    const next = all[at + 1];
    if (!next) return [one];
    return [{ from: one.from, to: next.to, runs: one.runs + next.runs, ns: one.ns + next.ns }];
  });
}

/** The chart's shapes: positions from 0 to 1, to the right and upwards. */
export interface RunTimesChart {
  means: { from: number; to: number; y: number }[];
  traced: { x: number; y: number; row: TraceRow }[];
  /** The time at the top (ns), and from when to when it is (epoch ms). */
  most: number;
  from: number;
  to: number;
}

/** Null without runs. */
export function runTimesChart(
  intervals: readonly Interval[],
  traces: readonly TraceRow[],
): RunTimesChart | null {
  if (intervals.length === 0 && traces.length === 0) return null;
  const means = intervals.map(({ from, to, runs, ns }) => ({ from, to, mean: ns / runs }));
  const most = Math.max(1, ...means.map(({ mean }) => mean), ...traces.map((row) => row.duration_ns));
  const starts = traces.map((row) => row.start_ms);
  const from = Math.min(...means.slice(0, 1).map((each) => each.from), ...starts);
  const to = Math.max(...means.slice(-1).map((each) => each.to), ...starts);
  const x = (ms: number) => (to > from ? (ms - from) / (to - from) : 0.5);
  return {
    means: means.map((each) => ({ from: x(each.from), to: x(each.to), y: each.mean / most })),
    traced: traces.map((row) => ({ x: x(row.start_ms), y: row.duration_ns / most, row })),
    most,
    from,
    to,
  };
}
