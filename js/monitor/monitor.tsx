/** The whole monitor: tables, details, and below them the timelines that have been opened. */

import { isolated } from "../model/format/bidi";
import { Message } from "../ui/message";
import { Banners } from "./banner";
import { Header } from "./header";
import type { MonitorState } from "./host";
import { OpenedTrace } from "./opened_trace";
import { nothing } from "./recording";
import { SessionDetails } from "./session_details";
import { SignatureDetails } from "./signature_details";
import { SignatureTable } from "./signature_table";
import { StatusLine } from "./status_line";
import type { MonitorStore } from "./store";
import { TraceTable } from "./trace_table";
import { useMonitor } from "./use_monitor";

export interface Sizes {
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
