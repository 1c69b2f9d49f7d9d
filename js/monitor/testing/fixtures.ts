/** Rows and states to test with. */

import type { MonitorState, ProcessRow, SignatureRow, TraceRow } from "../../model/wire/schema";

export function signature(values: Partial<SignatureRow>): SignatureRow {
  return {
    signature: 1,
    kind: "session",
    label: "train",
    runs: 1,
    failed: 0,
    traced: 0,
    traced_ns: 0,
    mean_ns: 1e6,
    total_ns: 1e6,
    longest_ns: 1e6,
    tracing_ratio: null,
    first_ms: 0,
    last_ms: 0,
    processes: 1,
    traces: 0,
    requested: 0,
    rule: "",
    fetches: [],
    targets: [],
    feeds: [],
    options: "",
    more: 0,
    ...values,
  };
}

export function trace(values: Partial<TraceRow>): TraceRow {
  return {
    trace: 1,
    signature: 1,
    label: "train",
    process: 1,
    run: 1,
    start_ms: 0,
    duration_ns: 1e6,
    tracing_ns: null,
    untraced_ns: null,
    untraced_runs: 0,
    batch: null,
    format: "run_metadata",
    bytes: 1000,
    ...values,
  };
}

export function process(values: Partial<ProcessRow>): ProcessRow {
  return { process: 1, host: "node", pid: 7, start_ms: 0, end_ms: null, ...values };
}

export function state(values: Partial<MonitorState>): MonitorState {
  const sum = (of: "runs" | "total_ns") => (values.signatures ?? []).reduce((all, row) => all + row[of], 0);
  return {
    path: "/runs/run.tfvis",
    name: "run.tfvis",
    now_ms: 0,
    rule: "",
    keep: null,
    requested: 0,
    problem: "",
    waiting: "",
    processes: [],
    signatures: [],
    signatures_total: values.signatures?.length ?? 0,
    runs_total: sum("runs"),
    total_ns: sum("total_ns"),
    traces: [],
    traces_total: values.traces?.length ?? 0,
    controllable: true,
    ...values,
  };
}
