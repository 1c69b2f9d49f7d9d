/** Details of one signature: requests, figures, fetches and feeds. */

import { formatCount, formatDuration, formatPercent } from "../model/format/units";
import type { MonitorState, SignatureRow, TraceRow } from "../model/wire/schema";
import { Facts } from "../ui/facts";
import { capital, pendingText, refusal, runText } from "./recording";
import { ago, fullMoment } from "./relative_time";
import { focusRow } from "./rows";
import { RuleForm } from "./rule_form";
import { parseRule, ruleName } from "./rules";
import { runTimesChart } from "./run_times";
import { shareOf } from "./sorting";
import type { MonitorStore } from "./store";
import { comparedText, LONGEST, MEAN, RATIO, SLOWS, signatureRatioText } from "./tracing_cost";

interface SignatureDetailsProps {
  store: MonitorStore;
  state: MonitorState;
  row: SignatureRow;
}

export function SignatureDetails({ store, state, row }: SignatureDetailsProps) {
  const now = store.now();
  const facts: [term: string, value: string, title?: string][] = [
    ["Runs", formatCount(row.runs) + (row.traced > 0 ? ` · ${formatCount(row.traced)} traced` : "")],
    ...(row.failed > 0 ? [["Failed", formatCount(row.failed)] as [string, string]] : []),
    ...means(row),
    ["Longest", row.longest_ns > 0 ? formatDuration(row.longest_ns) : "–", LONGEST],
    ["Total", `${formatDuration(row.total_ns)} · ${formatPercent(shareOf(row, state))}`],
    ...moments(row, now),
    ["Processes", formatCount(row.processes)],
    ["Traces", formatCount(row.traces)],
  ];
  return (
    <>
      <header>
        <h2>{row.label}</h2>
        <button
          type="button"
          class="close"
          aria-label="Close the details"
          onClick={(event) => {
            focusRow(event.currentTarget, "signatures", row.signature);
            store.closeDetails();
          }}
        >
          ×
        </button>
      </header>
      <span class="chip plain">{row.kind}</span>
      <Orders store={store} state={state} row={row} />
      <RunTimesChart store={store} signature={row.signature} />
      <h3>Figures</h3>
      <Facts facts={facts} />
      <Names title="Fetches" names={row.fetches} />
      <Names title="Runs, without a value" names={row.targets} />
      <Names title="Feeds" names={row.feeds} />
      {row.more > 0 && <p class="note">{formatCount(row.more)} more names are not listed.</p>}
      {row.options && (
        <>
          <h3>Options</h3>
          <pre>{row.options}</pre>
        </>
      )}
    </>
  );
}

function means(row: SignatureRow): [string, string, string?][] {
  const isAllTraced = row.traced > 0 && row.traced === row.runs;
  return [
    ...(isAllTraced
      ? []
      : [["Mean", formatDuration(row.mean_ns ?? Number.NaN), MEAN] as [string, string, string]]),
    ...(row.traced > 0
      ? [["Mean, traced", formatDuration(row.traced_ns / row.traced), SLOWS] as [string, string, string]]
      : []),
    ...(signatureRatioText(row)
      ? [["Traced vs. untraced", signatureRatioText(row), RATIO] as [string, string, string]]
      : []),
  ];
}

function moments(row: SignatureRow, now: number): [string, string, string][] {
  const named: [string, number | null][] = [
    ["First", row.first_ms],
    ["Last", row.last_ms],
  ];
  return named.flatMap(([term, ms]) => (ms === null ? [] : [[term, ago(ms, now), fullMoment(ms)]]));
}

function Orders({ store, state, row }: SignatureDetailsProps) {
  const key = `next ${row.signature}`;
  const cannot = refusal(state);
  if (cannot) return <p class="note">{cannot}.</p>;
  const all = parseRule(state.rule);
  return (
    <>
      <h3>Trace</h3>
      {row.requested > 0 ? (
        <div class="pending">
          <i aria-hidden="true" />
          <span role="status">{pendingText(row.requested, store.isRunning)}</span>
          <button
            type="button"
            class="small"
            disabled={store.isPending(key)}
            onClick={() => store.order(key, { do: "cancel_requests", signature: row.signature })}
          >
            Cancel
          </button>
        </div>
      ) : (
        <button
          type="button"
          class="wide"
          title={store.nextRefusal ?? undefined}
          disabled={store.nextRefusal !== null || store.isPending(key)}
          onClick={() => store.order(key, { do: "trace_next", signature: row.signature })}
        >
          Trace its next run
        </button>
      )}
      <h3>Rule</h3>
      <RuleForm
        key={`${row.signature} ${row.rule}`}
        store={store}
        signature={row.signature}
        present={row.rule}
      />
      {all.kind !== "none" && row.rule === "" && (
        <p class="note">The rule for all signatures applies: {ruleName(all)}.</p>
      )}
    </>
  );
}

function Names({ title, names }: { title: string; names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <>
      <h3>
        {title} <span>{formatCount(names.length)}</span>
      </h3>
      <ul class="names">
        {names.map((name) => (
          <li key={name}>{name}</li>
        ))}
      </ul>
    </>
  );
}

/** Least width of a mean, which may cover a very short time. */
const LEAST_SHARE = 0.012;

function RunTimesChart({ store, signature }: { store: MonitorStore; signature: number }) {
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
  return `${capital(runText(row))}: ${formatDuration(row.duration_ns)}, ${comparedText(row)}`;
}
