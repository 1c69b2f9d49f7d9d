/** The whole monitor: tables, details, and below them the timelines that have been opened. */

import { useLayoutEffect, useReducer } from "preact/hooks";
import { isolated } from "../model/format/bidi";
import { formatBytes, formatCount, formatDuration } from "../model/format/units";
import type { MonitorState } from "../model/wire/schema";
import { DetailsButton } from "../ui/details_button";
import { Facts } from "../ui/facts";
import { Message } from "../ui/message";
import { Popover } from "../ui/popover";
import { ScopedText } from "../ui/scoped_text";
import { OpenedTrace } from "./opened_trace";
import {
  capital,
  nextRefusal,
  nextRunText,
  nothing,
  pendingText,
  recording,
  refusal,
  runText,
} from "./recording";
import { ago, fullMoment, moment } from "./relative_time";
import { RuleForm } from "./rule_form";
import { isCostly, parseRule, type Rule, ruleName } from "./rules";
import { SignatureDetails } from "./signature_details";
import { SignatureTable } from "./signature_table";
import type { MonitorStore } from "./store";
import { TraceTable } from "./trace_table";

interface Sizes {
  /**
   * Height of the tables and their details (CSS px); null if they fill the window, or share it with a
   * timeline.
   */
  height: () => number | null;
  /** Height of an opened timeline (CSS px). */
  timeline: () => number;
}

/** Height of the tables in a window that they share with a timeline. */
const SHARED = "max(40vh, 280px)";

export function Monitor({ store, sizes }: { store: MonitorStore; sizes: Sizes }) {
  useMonitor(store);
  const { state, opened } = store;
  const fixed = sizes.height();
  // In a window the timeline below gets the rest; without one the panel is only as high as its contents.
  const isShared = fixed === null && opened.length > 0;
  const height = isShared ? SHARED : fixed === null ? "100vh" : `${fixed}px`;
  return (
    <>
      <section
        class="panel"
        data-part="panel"
        aria-label={`Monitor${state ? ` of ${isolated(state.name)}` : ""}`}
        // Rows that arrive move nothing below.
        style={isShared || state?.signatures.length ? { height } : { maxHeight: height }}
      >
        {state && <Header store={store} state={state} />}
        <Banners store={store} state={state} />
        {state ? <Body store={store} state={state} /> : <Nothing store={store} />}
        <StatusLine store={store} />
        {fixed !== null && (
          <div
            class="grip"
            data-part="grip"
            role="separator"
            aria-label="Height of the monitor"
            aria-valuenow={fixed}
            tabIndex={0}
          />
        )}
      </section>
      {opened.map((row) => (
        <OpenedTrace
          key={row.trace}
          store={store}
          row={row}
          height={sizes.timeline()}
          fills={fixed === null}
        />
      ))}
    </>
  );
}

function Nothing({ store }: { store: MonitorStore }) {
  const { source } = store.host;
  if (store.host.trouble()) return <Message title="Nothing to show yet" />;
  return <Message title={`Waiting for the ${source} …`} progress={{ done: 0, total: 0 }} />;
}

function Empty({ title, text }: { title: string; text: string }) {
  return (
    <div class="message" role="status">
      <h2>{title}</h2>
      {text && <p>{text}</p>}
    </div>
  );
}

function Body({ store, state }: { store: MonitorStore; state: MonitorState }) {
  const { signature } = store;
  return (
    <div class="body">
      <div class="tables">
        {state.signatures.length > 0 ? (
          <>
            <SignatureTable store={store} state={state} />
            <TraceTable store={store} state={state} />
          </>
        ) : (
          <Empty {...nothing(state)} />
        )}
      </div>
      {store.panelOpen && (
        <aside
          class="details"
          aria-label={`Details of ${signature ? isolated(signature.label) : "the session"}`}
        >
          {signature ? (
            <SignatureDetails key={signature.signature} store={store} state={state} row={signature} />
          ) : (
            <SessionDetails store={store} state={state} />
          )}
        </aside>
      )}
    </div>
  );
}

function useMonitor(store: MonitorStore): void {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useLayoutEffect(() => {
    const changed = () => redraw(undefined);
    const stop = store.on(changed);
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") changed();
    }, 1000);
    changed();
    return () => {
      stop();
      clearInterval(timer);
    };
  }, [store]);
}

function StatusLine({ store }: { store: MonitorStore }) {
  const { notice, failure } = store;
  const trace = notice?.trace;
  return (
    <div class="status">
      {failure ? (
        <span class="failed" role="alert">
          {failure}
        </span>
      ) : (
        <span class="notice" role="status">
          {store.isWaiting
            ? store.host.patience
            : notice &&
              `${notice.text}${trace ? `: ${isolated(trace.label)}, ${runText(trace)}, ${formatDuration(trace.duration_ns)}` : ""}`}
        </span>
      )}
      {trace && !failure && !store.isWaiting && (
        <button type="button" class="open" onClick={() => store.open(trace)}>
          Open
        </button>
      )}
      <span class="hints">
        <kbd>↑</kbd> <kbd>↓</kbd> rows · <kbd>Enter</kbd> opens · <kbd>/</kbd> filters
      </span>
    </div>
  );
}

function Banners({ store, state }: { store: MonitorStore; state: MonitorState | null }) {
  const trouble = store.host.trouble();
  return (
    <>
      {trouble && (
        <p class="banner" data-kind="alert" role="alert">
          {trouble}
        </p>
      )}
      {state?.problem && (
        <p class="banner" data-kind="alert" role="alert">
          {capital(state.problem)}
        </p>
      )}
      {state && <Ordered store={store} state={state} />}
    </>
  );
}

function Ordered({ store, state }: { store: MonitorStore; state: MonitorState }) {
  const rule = parseRule(state.rule);
  const isAsked = state.requested > 0 && store.isLongAsked;
  if (rule.kind === "none" && !isAsked) return null;
  const isSlow = isCostly(rule) && store.isRunning;
  return (
    <div class="banner" data-kind={isSlow ? "alert" : "note"} role="status">
      <span>
        {rule.kind === "none" ? (
          pendingText(state.requested, store.isRunning)
        ) : (
          <RuleText rule={rule} isRunning={store.isRunning} />
        )}
      </span>
      <button
        type="button"
        title="Cancels all requests and rules"
        disabled={!state.controllable || store.isPending("rule null")}
        onClick={() => store.order("rule null", { do: "stop_tracing", signature: null })}
      >
        {rule.kind === "none" ? "Cancel" : "Stop"}
      </button>
    </div>
  );
}

function RuleText({ rule, isRunning }: { rule: Rule; isRunning: boolean }) {
  const name = ruleName(rule);
  const isMany = rule.kind === "slower";
  const ofEach = rule.kind === "every" && rule.value > 1 ? ", of each signature" : "";
  const isSlow = isCostly(rule);
  if (isRunning)
    return (
      <>
        <b>{capital(name)}</b> {isMany ? "are kept as traces" : "is kept as a trace"}
        {ofEach}.{isSlow && " Each run is as slow as TensorFlow's tracing makes it."}
      </>
    );
  return (
    <>
      A rule waits for the next job: <b>{name}</b> will be kept as {isMany ? "traces" : "a trace"}
      {ofEach}.{isSlow && " Each run will be as slow as TensorFlow's tracing makes it."}
    </>
  );
}

/** A job that is started again and again leaves many behind. */
const MAX_LISTED = 50;

function SessionDetails({ store, state }: { store: MonitorStore; state: MonitorState }) {
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
      <Facts facts={facts.map(([term, value]) => [term, <ScopedText text={value} />])} />
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

export function Header({ store, state }: { store: MonitorStore; state: MonitorState }) {
  const { kind, text } = recording(state);
  const isLost = store.host.trouble() !== null;
  const rate = isLost ? null : store.rate.at(store.now());
  const facts = [
    counted(state.runs_total, "run"),
    ...(kind === "running" && rate !== null && rate >= 0.05 ? [`${formatRate(rate)}/s`] : []),
    ...(state.traces_total > 0 ? [counted(state.traces_total, "trace")] : []),
  ];
  return (
    <div class="toolbar">
      <span class="title" title={state.path}>
        {state.name}
      </span>
      <button
        type="button"
        class="state"
        data-kind={isLost ? "lost" : kind}
        title="Show the session and its processes"
        aria-label={`${text}: show the session and its processes`}
        onClick={() => store.select(null)}
      >
        <i aria-hidden="true" />
        <span>{text}</span>
      </button>
      {!state.waiting && <span class="summary">{facts.join(" · ")}</span>}
      <span class="space" />
      <Filter store={store} />
      <Orders store={store} state={state} />
      <button
        type="button"
        title="Download a copy of the session"
        disabled={state.waiting !== "" || store.isPending("save")}
        onClick={() => store.saveSession()}
      >
        {store.isPending("save") ? "Saving …" : "Save"}
      </button>
      <DetailsButton isOpen={store.panelOpen} toggle={() => store.set({ panelOpen: !store.panelOpen })} />
    </div>
  );
}

function counted(count: number, what: string): string {
  return `${formatCount(count)} ${what}${count === 1 ? "" : "s"}`;
}

function formatRate(rate: number): string {
  return rate < 10 ? rate.toFixed(1) : formatCount(Math.round(rate));
}

function Filter({ store }: { store: MonitorStore }) {
  return (
    <label class="search field">
      <input
        type="text"
        aria-label="Filter signatures"
        placeholder="Filter signatures"
        value={store.filter}
        onInput={(event) => store.set({ filter: event.currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || !store.filter) return;
          event.stopPropagation();
          store.set({ filter: "" });
        }}
      />
      {store.filter ? (
        <button type="button" aria-label="Show all signatures" onClick={() => store.set({ filter: "" })}>
          ×
        </button>
      ) : (
        <kbd>/</kbd>
      )}
    </label>
  );
}

function Orders({ store, state }: { store: MonitorStore; state: MonitorState }) {
  const isAsked = state.requested > 0;
  const cannot = refusal(state);
  const cannotNext = nextRefusal(state);
  return (
    <>
      <button
        type="button"
        class="order"
        title={
          cannotNext ??
          (store.isRunning
            ? "Trace the next run of any signature"
            : "No job is recording. The next job traces its first run")
        }
        disabled={cannotNext !== null || isAsked || store.isPending("next")}
        onClick={() => store.order("next", { do: "trace_next", signature: null })}
      >
        {isAsked ? "Next run requested" : nextRunText(state)}
      </button>
      <Popover
        text="Trace rules"
        title={cannot ?? "Rules for all signatures"}
        disabled={cannot !== null}
        kind="dialog"
        name="Rules for all signatures"
      >
        {(close) => (
          <>
            <h3>Rule for all signatures</h3>
            <RuleForm store={store} signature={null} present={state.rule} done={close} />
            <p class="note">Per-signature rules take precedence.</p>
          </>
        )}
      </Popover>
    </>
  );
}
