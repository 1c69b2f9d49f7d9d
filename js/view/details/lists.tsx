/** The lists in an event's details: links to other events, outputs, memory. */

import { useState } from "preact/hooks";
import type { Actions } from "../../input/actions";
import { isolated } from "../../model/format/bidi";
import { formatBytes, formatDuration, unbroken } from "../../model/format/units";
import { locationOf, nameOf, opOf } from "../../model/lanes/event_text";
import type { Details } from "../../model/wire/details";
import type { Store } from "../../state/store";
import { ScopedText } from "../../ui/scoped_text";

/** Longer lists are cut here until the user asks for the rest. */
const FIRST = 8;

/** A number of bytes that may not have been recorded. */
const size = (bytes: number | null) => (bytes === null ? "–" : formatBytes(bytes));

export function EventLink({ store, actions, id }: { store: Store; actions: Actions; id: number }) {
  return (
    <button type="button" class="link" onClick={() => actions.visit(id)}>
      <b>
        <ScopedText text={nameOf(store.drawn, id) || opOf(store.drawn, id)} />
      </b>{" "}
      <small>
        {isolated(opOf(store.drawn, id))} on {locationOf(store.drawn, id)},{" "}
        {unbroken(formatDuration(store.drawn.duration[id]))}
      </small>
    </button>
  );
}

export function LinkList(props: {
  store: Store;
  actions: Actions;
  title: string;
  events: readonly number[];
}) {
  const [all, setAll] = useState(false);
  const { events, title } = props;
  if (events.length === 0) return null;
  const shown = all ? events : events.slice(0, FIRST);
  return (
    <section>
      <h3>
        {title}
        {events.length > 1 ? ` (${events.length})` : ""}
      </h3>
      <ul class="links">
        {shown.map((id) => (
          <li key={id}>
            <EventLink store={props.store} actions={props.actions} id={id} />
          </li>
        ))}
      </ul>
      {events.length > shown.length && (
        <button type="button" class="link" onClick={() => setAll(true)}>
          <b>{events.length - shown.length} more</b>
        </button>
      )}
    </section>
  );
}

export function Outputs({ outputs }: { outputs: ReturnType<Details["outputs"]> }) {
  if (outputs.length === 0) return null;
  return (
    <section>
      <h3>Outputs</h3>
      <table>
        <thead>
          <tr>
            <th>Type</th>
            <th>Shape</th>
            <th>Size</th>
          </tr>
        </thead>
        <tbody>
          {outputs.map((output) => (
            <tr key={output.slot}>
              <td>
                {output.slot}: {isolated(output.dtype || "unknown")}
              </td>
              <td>{output.shape}</td>
              <td>{size(output.bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** What the graph says of the node that ran. */
export function GraphNode({ facts }: { facts: [string, string][] }) {
  if (facts.length === 0) return null;
  return (
    <section>
      <h3>Graph node</h3>
      <dl>
        {facts.map(([term, value]) => (
          <>
            <dt>{term}</dt>
            <dd>{isolated(value)}</dd>
          </>
        ))}
      </dl>
    </section>
  );
}

export function RecordedMemory(props: {
  memory: ReturnType<Details["memory"]>;
  temp: number | null;
  persistent: number | null;
}) {
  const { memory, temp, persistent } = props;
  if (memory.length === 0 && !temp && !persistent) return null;
  return (
    <section>
      <h3>Memory</h3>
      {memory.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>Allocator</th>
              <th title="All memory that this execution allocated">Total</th>
              <th title="Largest amount at one time">Peak</th>
              <th title="Memory still held at its end">Live</th>
            </tr>
          </thead>
          <tbody>
            {memory.map((record) => (
              <tr key={record.allocator}>
                <td title={record.allocator}>{record.allocator}</td>
                <td>{size(record.total)}</td>
                <td>{size(record.peak)}</td>
                <td>{size(record.live)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {temp ? <p class="unlinked">{formatBytes(temp)} temporary</p> : null}
      {persistent ? <p class="unlinked">{formatBytes(persistent)} persistent</p> : null}
    </section>
  );
}
