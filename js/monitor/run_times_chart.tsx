/** A small chart of how long the runs of a signature took over time. */

import { formatCount, formatDuration } from "../model/format/units";
import type { TraceRow } from "./host";
import { ago } from "./relative_time";
import { runTimesChart } from "./run_times";
import type { MonitorStore } from "./store";
import { comparedText, SLOWS } from "./tracing_cost";

/** Least width of a mean, which may cover a very short time. */
const LEAST_SHARE = 0.012;

export function RunTimesChart({ store, signature }: { store: MonitorStore; signature: number }) {
  const traces = store.state?.traces.filter((row) => row.signature === signature) ?? [];
  const chart = runTimesChart(store.runTimes.of(signature), traces);
  if (!chart) return null;
  const now = store.now();
  const percent = (share: number) => `${100 * share}%`;
  return (
    <>
      <h3>Run times</h3>
      <div
        class="run-times"
        role="img"
        aria-label={`Run times up to ${formatDuration(chart.most)}, ${formatCount(traces.length)} of traced runs`}
      >
        {chart.means.map(({ from, to, y }) => (
          <i
            key={from}
            style={{
              left: percent(from),
              width: percent(Math.max(to - from, LEAST_SHARE)),
              bottom: percent(y),
            }}
          />
        ))}
        {chart.traced.map(({ x, y, row }) => (
          <b key={row.trace} title={traceTitle(row)} style={{ left: percent(x), bottom: percent(y) }} />
        ))}
        <small class="most">{formatDuration(chart.most)}</small>
      </div>
      <p class="run-times-axis">
        <span>{ago(chart.from, now)}</span>
        <span title={`Means are of untraced runs. ${SLOWS}`}>
          <i /> mean <b /> traced
        </span>
        <span>{ago(chart.to, now)}</span>
      </p>
    </>
  );
}

function traceTitle(row: TraceRow): string {
  return `Traced run ${formatCount(row.run)}: ${formatDuration(row.duration_ns)}, ${comparedText(row)}`;
}
