/** The traces kept, of all signatures or of the selected one. */

import { useEffect, useRef, useState } from "preact/hooks";
import { isolated } from "../model/format/bidi";
import { formatBytes, formatCount, formatDuration } from "../model/format/units";
import type { MonitorState, TraceRow } from "../model/wire/schema";
import { Popover } from "../ui/popover";
import type { Order } from "../ui/sort";
import type { ColumnHead } from "../ui/table";
import type { DownloadFormat } from "./host";
import { capital, nextRefusal, nextRunText, runText } from "./recording";
import { ago, fullMoment, moment } from "./relative_time";
import { type RowButton, Rows } from "./rows";
import { sortTraces, type TraceColumn, useStableOrder } from "./sorting";
import type { MonitorStore } from "./store";
import { addedText, batchText, comparedText, ratioText, SLOWS } from "./tracing_cost";

const HEADS: ColumnHead<TraceColumn>[] = [
  { column: "run", title: "Run", hint: "Number of the run in its signature", class: "c-run" },
  { column: "label", title: "Signature", hint: "Signature", isText: true, class: "c-label" },
  { column: "start_ms", title: "Started", hint: "Start of the run", class: "c-start_ms" },
  {
    column: "duration_ns",
    title: "Duration",
    hint: "Duration of the traced run, without starting and collecting the trace",
    class: "c-duration_ns",
  },
  {
    column: "ratio",
    title: "vs. untraced",
    hint: `Duration relative to the median of up to 64 untraced runs of this signature before it. ${SLOWS} Rules use the median of the last 64 traced runs.`,
    class: "c-ratio",
  },
  {
    column: "tracing_ns",
    title: "Tracing",
    hint: "Time to start and collect the trace, in addition to the duration",
    class: "c-tracing_ns",
  },
  { column: "bytes", title: "Size", hint: "Size in the file", class: "c-bytes" },
  { column: "process", title: "Process", hint: "Process of the run", class: "c-process" },
  { column: "actions", title: "Actions", isFixed: true, isUnseen: true, class: "c-actions" },
];

const numberOf = (row: TraceRow) => row.trace;

export function TraceTable({ store, state }: { store: MonitorStore; state: MonitorState }) {
  const { traceSort: sort, signature } = store;
  const ofOne = signature
    ? state.traces.filter((row) => row.signature === signature.signature)
    : state.traces;
  const sorted = sortTraces(ofOne, sort);
  const choice = `${sort.column} ${sort.up} ${signature?.signature}`;
  const { shown, late, group } = useStableOrder(sorted, numberOf, choice);
  const setOrder = (order: Order<TraceColumn>) => store.set({ traceSort: order });
  const heads = HEADS.filter(({ column }) => column !== "label" || !signature);
  return (
    <>
      <Heading store={store} state={state} listed={ofOne.length} late={late} />
      <Rows
        part="traces"
        rows={shown}
        number={numberOf}
        {...{ group, heads, setOrder }}
        order={sort}
        table={{ "aria-label": "Traces", "data-one": signature !== null || undefined }}
        draw={(row, button) => <Row key={row.trace} {...{ store, row, button }} hasLabel={!signature} />}
      >
        <p class="none">{emptyText(state, signature !== null)}</p>
      </Rows>
    </>
  );
}

function emptyText(state: MonitorState, isOfOne: boolean): string {
  if (nextRefusal(state) !== null) return "No traces.";
  return `No traces yet. Click ${isOfOne ? "Trace next" : nextRunText(state)}.`;
}

interface HeadingProps {
  store: MonitorStore;
  state: MonitorState;
  listed: number;
  /** How many have come while the order of rows is held. */
  late: number;
}

function Heading({ store, state, listed, late }: HeadingProps) {
  const { signature } = store;
  const isCut = state.traces_total > state.traces.length;
  const whole = signature ? signature.traces : state.traces_total;
  return (
    <div class="heading">
      <h2>Traces</h2>
      <span class="count">
        {isCut && listed < whole
          ? `${formatCount(listed)} of ${formatCount(whole)}, among the newest ${formatCount(state.traces.length)}`
          : formatCount(listed)}
      </span>
      {state.keep !== null && whole > 0 && (
        <span class="count" title="Requested, opened and annotated traces stay">
          rules keep the newest {formatCount(state.keep)} per signature
        </span>
      )}
      {listed > 0 && <span class="count">tracing slows runs down</span>}
      {late > 0 && (
        <span class="count late" role="status">
          {formatCount(late)} new at the end; sorted in when you leave the rows
        </span>
      )}
      {signature && (
        <button
          type="button"
          class="small of"
          title="Show the traces of all signatures"
          onClick={() => store.set({ selected: null })}
        >
          <span>of {isolated(signature.label)}</span>
          <small class="visually-hidden">; show the traces of all signatures</small>{" "}
          <i aria-hidden="true">×</i>
        </button>
      )}
    </div>
  );
}

interface RowProps {
  store: MonitorStore;
  row: TraceRow;
  hasLabel: boolean;
  button: RowButton;
}

function Row({ store, row, hasLabel, button }: RowProps) {
  const isOpen = store.opened.some((each) => each.trace === row.trace);
  const now = store.now();
  return (
    <tr data-new={store.arrived.has(row.trace) || undefined} data-selected={isOpen || undefined}>
      <td class="c-run">
        <button
          class="row"
          {...button}
          aria-expanded={isOpen}
          aria-label={`${capital(runText(row))} of ${isolated(row.label)}`}
          title={["Show its timeline", batchText(row)].filter(Boolean).join(" · ")}
          onClick={() => store.open(row)}
        >
          {row.run > 0 ? formatCount(row.run) : capital(runText(row))}
        </button>
        {row.batch === 0 && (
          <>
            {" "}
            <small title={capital(batchText(row))}>first batch</small>
          </>
        )}
        {row.format === "parquet" && (
          <>
            {" "}
            <small>out of memory</small>
          </>
        )}
      </td>
      {hasLabel && (
        <td class="c-label" title={row.label}>
          {row.label}
        </td>
      )}
      <td class="c-start_ms" title={fullMoment(row.start_ms)}>
        {moment(row.start_ms, now)} <small>{ago(row.start_ms, now)}</small>
      </td>
      <td class="c-duration_ns">{formatDuration(row.duration_ns)}</td>
      <td class="c-ratio" title={`${capital(comparedText(row))}. ${SLOWS}`}>
        {ratioText(row)} <small>{addedText(row)}</small>
      </td>
      <td class="c-tracing_ns">{formatDuration(row.tracing_ns ?? Number.NaN)}</td>
      <td class="c-bytes">{formatBytes(row.bytes)}</td>
      <td class="c-process">{row.process}</td>
      <td class="c-actions" data-linked={store.host.address([row.trace]) !== null || undefined}>
        <TraceActions store={store} row={row} tabIndex={button.tabIndex} />
      </td>
    </tr>
  );
}

const FORMATS: [DownloadFormat, label: string, suffix: string][] = [
  ["html", "Offline page", ".html"],
  ["dashboard", "Dashboard", ".html"],
  ["json", "Chrome trace", ".json"],
  ["parquet", "Table", ".parquet"],
];

/** What TensorFlow gave, byte for byte: a pickle has what tfvis and tftracer load, which know no profiles. */
function messages(row: TraceRow): typeof FORMATS {
  if (row.format === "parquet") return [];
  if (row.format === "xspace") return [["pb", "XSpace", ".xplane.pb"]];
  return [
    ["pb", "RunMetadata", ".pb"],
    ["pickle", "RunMetadata", ".pickle"],
  ];
}

interface TraceActionsProps {
  store: MonitorStore;
  row: TraceRow;
  tabIndex: number;
}

function TraceActions({ store, row, tabIndex }: TraceActionsProps) {
  const [isAsking, setAsking] = useState(false);
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isAsking) keep.current?.focus();
  }, [isAsking]);
  const key = `delete ${row.trace}`;
  const named = `${runText(row)} of ${isolated(row.label)}`;
  if (store.isPending(`download ${row.trace}`)) return <span class="doing">Creating the file …</span>;
  if (store.isPending(key)) return <span class="doing">Deleting …</span>;
  if (isAsking)
    return (
      <span class="ask" role="group" aria-label={`Delete ${named}?`}>
        <button
          type="button"
          class="small alert"
          onClick={() => {
            setAsking(false);
            store.order(key, { do: "delete", traces: [row.trace] });
          }}
        >
          Delete
        </button>
        <button type="button" class="small" ref={keep} onClick={() => setAsking(false)}>
          Keep
        </button>
      </span>
    );
  const address = store.host.address([row.trace]);
  return (
    <span class="actions">
      {address && (
        <a
          href={address}
          target="_blank"
          rel="noopener"
          aria-label={`Open ${named} in a new tab`}
          tabIndex={tabIndex}
        >
          New tab
        </a>
      )}
      <Popover text="Download" label={`Download ${named}`} kind="menu" name="Download" tabIndex={tabIndex}>
        {(close) =>
          [...FORMATS, ...messages(row)].map(([format, label, suffix]) => (
            <button
              key={format}
              type="button"
              role="menuitem"
              onClick={() => {
                close();
                store.download(row, format);
              }}
            >
              {label} <small>{suffix}</small>
            </button>
          ))
        }
      </Popover>
      <button
        type="button"
        aria-label={`Delete ${named}`}
        disabled={!store.isControllable}
        tabIndex={tabIndex}
        onClick={() => setAsking(true)}
      >
        Delete
      </button>
    </span>
  );
}
