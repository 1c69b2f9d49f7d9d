/** The table of signatures. */

import { isolated } from "../model/format/bidi";
import { formatCount, formatDuration, formatPercent } from "../model/format/units";
import type { MonitorState, SignatureRow } from "../model/wire/schema";
import type { ColumnHead } from "../ui/table";
import { pendingText } from "./recording";
import { ago, fullMoment } from "./relative_time";
import { type RowButton, Rows } from "./rows";
import { parseRule, ruleMark, ruleName } from "./rules";
import { type SignatureColumn, shareOf, sortSignatures, useStableOrder } from "./sorting";
import type { MonitorStore } from "./store";
import { LONGEST, MEAN } from "./tracing_cost";

const HEADS: ColumnHead<SignatureColumn>[] = [
  { column: "label", title: "Signature", isText: true, class: "c-label" },
  {
    column: "kind",
    title: "Kind",
    hint: "Session run or Keras method",
    isText: true,
    class: "c-kind",
  },
  { column: "runs", title: "Runs", hint: "Runs that have ended", class: "c-runs" },
  { column: "failed", title: "Failed", hint: "Runs that raised an error", class: "c-failed" },
  { column: "mean_ns", title: "Mean", hint: MEAN, class: "c-mean_ns" },
  { column: "longest_ns", title: "Longest", hint: LONGEST, class: "c-longest_ns" },
  { column: "total_ns", title: "Total", hint: "All runs together", class: "c-total_ns" },
  { column: "last_ms", title: "Last", hint: "Start of the last run", class: "c-last_ms" },
  { column: "traces", title: "Traces", hint: "Stored traces", class: "c-traces" },
  { column: "share", title: "Share", isFixed: true, class: "c-share" },
  { column: "order", title: "Orders", isFixed: true, isUnseen: true, class: "c-order" },
];

const numberOf = (row: SignatureRow) => row.signature;

export function SignatureTable({ store, state }: { store: MonitorStore; state: MonitorState }) {
  const { sort, filter } = store;
  const found = sortSignatures(filterSignatures(state.signatures, filter), sort);
  const { shown, group } = useStableOrder(found, numberOf, `${sort.column} ${sort.up} ${filter}`);
  const hasFailed = state.signatures.some((row) => row.failed > 0);
  const heads = HEADS.filter(({ column }) => column !== "failed" || hasFailed);
  const listed = state.signatures.length;
  const isCut = state.signatures_total > listed;
  const setOrder = (chosen: typeof sort) => store.set({ sort: chosen });
  // Who reads the details of one row reads those of the next.
  const moved = (row: number) => store.selected !== null && store.panelOpen && store.select(row);
  return (
    <>
      {isCut && (
        <p class="cut" role="note">
          Showing the {formatCount(listed)} of {formatCount(state.signatures_total)} signatures with the most
          time. The filter searches the listed ones; totals and shares cover all.
        </p>
      )}
      <Rows
        part="signatures"
        rows={shown}
        number={numberOf}
        {...{ group, heads, setOrder, moved }}
        order={sort}
        table={{ "aria-label": "Signatures" }}
        draw={(row, button) => (
          <Row key={row.signature} {...{ store, row, hasFailed, button }} share={shareOf(row, state)} />
        )}
        hasHead
      >
        {listed > 0 && (
          <p class="none">
            {isCut ? "No listed signature matches." : "No signature matches."}{" "}
            <button type="button" class="plain" onClick={() => store.set({ filter: "" })}>
              Show all
            </button>
          </p>
        )}
      </Rows>
    </>
  );
}

interface RowProps {
  store: MonitorStore;
  row: SignatureRow;
  /** Share of the time of all signatures, 0 to 1. */
  share: number;
  hasFailed: boolean;
  button: RowButton;
}

function Row({ store, row, share, hasFailed, button }: RowProps) {
  const isSelected = store.selected === row.signature;
  return (
    <tr data-selected={isSelected || undefined}>
      <td class="c-label">
        <span class="named">
          <button
            class="row"
            {...button}
            aria-pressed={isSelected}
            title={row.label}
            onClick={() => store.select(row.signature)}
          >
            {row.label}
          </button>
          {row.kind !== "session" && <small class="kind">{row.kind}</small>}
          <Marks store={store} row={row} />
        </span>
      </td>
      <td class="c-kind">{row.kind}</td>
      <td class="c-runs">{formatCount(row.runs)}</td>
      {hasFailed && (
        <td class={row.failed > 0 ? "c-failed alert" : "c-failed zero"}>{formatCount(row.failed)}</td>
      )}
      <td class="c-mean_ns">{formatDuration(row.mean_ns ?? Number.NaN)}</td>
      <td class="c-longest_ns">{row.longest_ns > 0 ? formatDuration(row.longest_ns) : "–"}</td>
      <td class="c-total_ns">{formatDuration(row.total_ns)}</td>
      <td class="c-last_ms" title={row.last_ms === null ? undefined : fullMoment(row.last_ms)}>
        {row.last_ms === null ? "–" : ago(row.last_ms, store.now())}
      </td>
      <td class={row.traces > 0 ? "c-traces" : "c-traces zero"}>{formatCount(row.traces)}</td>
      <td class="c-share">
        <span class="share">
          <i style={{ width: `${100 * share}%` }} />
        </span>
        <span class="percent">{formatPercent(share)}</span>
      </td>
      <td class="c-order">
        <TraceNext store={store} row={row} tabIndex={button.tabIndex} />
      </td>
    </tr>
  );
}

function Marks({ store, row }: { store: MonitorStore; row: SignatureRow }) {
  const rule = parseRule(row.rule);
  return (
    <>
      {row.requested > 0 && (
        <span class="mark" title={pendingText(row.requested, store.isRunning)}>
          next
        </span>
      )}
      {rule.kind !== "none" && (
        <span class="mark" title={`Traced: ${ruleName(rule)}`}>
          {ruleMark(rule)}
        </span>
      )}
    </>
  );
}

function TraceNext({ store, row, tabIndex }: { store: MonitorStore; row: SignatureRow; tabIndex: number }) {
  const key = `next ${row.signature}`;
  return (
    <button
      type="button"
      class="small"
      {...{ tabIndex }}
      aria-label={`Trace next run of ${isolated(row.label)}`}
      title={store.nextRefusal ?? "Trace its next run"}
      disabled={store.nextRefusal !== null || row.requested > 0 || store.isPending(key)}
      onClick={() => store.order(key, { do: "trace_next", signature: row.signature })}
    >
      Trace next
    </button>
  );
}

/** The signatures in whose label, kind or names all words of `text` are found, in either case. */
export function filterSignatures(rows: readonly SignatureRow[], text: string): SignatureRow[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...rows];
  return rows.filter((row) => {
    const all = [row.label, row.kind, ...row.fetches, ...row.targets, ...row.feeds].join("\n").toLowerCase();
    return words.every((word) => all.includes(word));
  });
}
