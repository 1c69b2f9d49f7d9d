/** The session: its file, and the processes that record into it. */

import { isolated } from "../model/format/bidi";
import { formatBytes, formatCount, formatDuration } from "../model/format/units";
import { ScopedText } from "../ui/scoped_text";
import type { MonitorState } from "./host";
import { recording, refusal } from "./recording";
import { ago, fullMoment, moment } from "./relative_time";
import type { MonitorStore } from "./store";

/** A job that is started again and again leaves many behind. */
const MAX_LISTED = 50;

export function SessionDetails({ store, state }: { store: MonitorStore; state: MonitorState }) {
  const now = store.now();
  const facts: [string, string][] = [
    ["File", state.path],
    ["State", recording(state).text],
    ...(state.waiting ? [] : counts(state)),
  ];
  const cannot = refusal(state);
  const newest = state.processes.toReversed().slice(0, MAX_LISTED);
  return (
    <>
      <header>
        <h2>Session</h2>
        <button
          type="button"
          class="close"
          aria-label="Close the details"
          onClick={() => store.closeDetails()}
        >
          ×
        </button>
      </header>
      <dl>
        {facts.map(([term, value]) => (
          <>
            <dt>{term}</dt>
            <dd>
              <ScopedText text={value} />
            </dd>
          </>
        ))}
      </dl>
      {newest.length > 0 && (
        <>
          <h3>
            Recordings <span>{formatCount(state.processes.length)}</span>
          </h3>
          <ul class="processes">
            {newest.map((row) => (
              <li key={row.process} data-running={row.end_ms === null || undefined}>
                <b>
                  {row.process} · {isolated(row.host)}
                </b>
                <span>pid {row.pid}</span>
                <small title={fullMoment(row.start_ms)}>
                  {row.end_ms === null
                    ? `since ${moment(row.start_ms, now)}`
                    : `${moment(row.start_ms, now)}, ended ${ago(row.end_ms, now)}`}
                </small>
              </li>
            ))}
          </ul>
        </>
      )}
      {!state.waiting && cannot && <p class="note">{cannot}.</p>}
    </>
  );
}

function counts(state: MonitorState): [string, string][] {
  return [
    ["Signatures", formatCount(state.signatures_total)],
    ["Runs", formatCount(state.runs_total)],
    ["Total", formatDuration(state.total_ns)],
    ["Traces", tracesText(state)],
  ];
}

/** Their number, and the bytes of the listed ones. */
function tracesText({ traces, traces_total }: MonitorState): string {
  const count = formatCount(traces_total);
  if (traces.length === 0) return count;
  const bytes = formatBytes(traces.reduce((sum, row) => sum + row.bytes, 0));
  const newest = traces.length < traces_total ? `the newest ${formatCount(traces.length)} take ` : "";
  return `${count} · ${newest}${bytes}`;
}
