/** A trace as a timeline below the tables. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Options } from "../host/host";
import { type Payload, StaticHost } from "../host/static_host";
import { isolated } from "../model/format/bidi";
import { formatDuration } from "../model/format/units";
import type { TraceRow } from "../model/wire/schema";
import { Message } from "../ui/message";
import { mount } from "../view/mount";
import type { Opened } from "./host";
import { runText } from "./recording";
import { fullMoment } from "./relative_time";
import { focusRow } from "./rows";
import type { MonitorStore } from "./store";
import { batchText, comparedText, SLOWS, tracingText } from "./tracing_cost";

/** Has the monitor store annotations and named views. */
class TraceHost extends StaticHost {
  constructor(
    readonly store: MonitorStore,
    readonly trace: number,
    payload: Payload,
    options: Partial<Options>,
  ) {
    super(payload, options);
  }

  override set<K extends keyof Options>(key: K, value: Options[K]): void {
    super.set(key, value);
    if (key === "annotations" || key === "views") this.store.storeNotes(this.trace);
  }
}

interface OpenedTraceProps {
  store: MonitorStore;
  row: TraceRow;
  /** Height of the timeline, in CSS pixels. */
  height: number;
  /** Whether the timeline fills the rest of a window. */
  fills: boolean;
}

export function OpenedTrace({ store, row, height, fills }: OpenedTraceProps) {
  const section = useRef<HTMLElement>(null);
  const stage = useRef<HTMLDivElement>(null);
  const held = useRef<StaticHost | null>(null);
  const options = useRef<Partial<Options>>({});
  const [opened, setOpened] = useState<Opened | null>(null);
  const [error, setError] = useState<string | null>(null);
  const { host, signal } = store;
  useEffect(() => {
    let isWanted = true;
    section.current?.scrollIntoView({ block: "nearest" });
    store.attempt(`open ${row.trace}`, "The trace could not be opened", async () => {
      try {
        const [answer, known] = await Promise.all([host.open(row.trace), store.optionsOf(row.trace)]);
        options.current = known;
        if (isWanted) setOpened(answer);
      } catch (problem) {
        // The error appears in place of the timeline.
        if (isWanted) setError(problem instanceof Error ? problem.message : String(problem));
      }
    });
    return () => {
      isWanted = false;
    };
  }, []);
  useEffect(() => {
    if (!opened || !stage.current) return;
    const shown = new AbortController();
    const { drawn, details } = opened;
    const trace = new TraceHost(
      store,
      row.trace,
      {
        drawn: async () => drawn,
        details,
        makes: ["html", "json"],
        make: async (format) => {
          if (format === "html") return store.pageOf(row.trace);
          const { name, content } = await host.download(row.trace, "json");
          return { name, bytes: new Uint8Array(await content.arrayBuffer()) };
        },
      },
      { ...options.current, height },
    );
    store.options.set(row.trace, trace.options);
    held.current = Object.assign(trace, { fills });
    const element = stage.current;
    mount(element, trace, AbortSignal.any([signal, shown.signal])).then((mounted) => {
      if (shown.signal.aborted) return;
      Object.assign(element, { tfvis: mounted });
      section.current?.scrollIntoView({ block: "nearest" });
      element.shadowRoot?.querySelector<HTMLElement>(".lanes")?.focus({ preventScroll: true });
    });
    return () => shown.abort();
  }, [opened]);
  useEffect(() => held.current?.resize(height), [height]);
  const close = () => {
    focusRow(section.current, "traces", row.trace);
    store.close(row.trace);
  };
  const named = `${isolated(row.label)}, ${runText(row)}`;
  return (
    <section class="opened" ref={section} aria-label={`Opened trace: ${named}`} data-trace={row.trace}>
      <header>
        {/* The opened trace has it in its toolbar. */}
        {!opened && <b>{named}</b>}
        <span title={SLOWS}>
          {costText(row)} · {fullMoment(row.start_ms)} · process {row.process}
        </span>
        <button type="button" aria-label={`Close the timeline of ${named}`} onClick={close}>
          Close
        </button>
      </header>
      {opened ? (
        <div class="stage" ref={stage} />
      ) : (
        <div class="stage waiting">
          {error !== null ? (
            <Message title="This trace cannot be shown" text={error} />
          ) : (
            <Message
              title="Opening the trace …"
              text={store.isWaiting ? host.patience : ""}
              progress={{ done: 0, total: 0 }}
            />
          )}
        </div>
      )}
    </section>
  );
}

/** Its duration, its excess over untraced runs, the cost of the trace, and its batch. */
function costText(row: TraceRow): string {
  const run = `Traced run: ${formatDuration(row.duration_ns)}, ${comparedText(row)}`;
  return [run, tracingText(row), batchText(row)].filter(Boolean).join(" · ");
}
