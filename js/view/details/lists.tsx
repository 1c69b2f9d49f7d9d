/** The lists of links to other events in an event's details. */

import { useState } from "preact/hooks";
import type { Actions } from "../../input/actions";
import { isolated } from "../../model/format/bidi";
import { cutMiddle } from "../../model/format/shorten";
import { formatDuration, unbroken } from "../../model/format/units";
import { locationOf, nameOf, opOf } from "../../model/lanes/event_text";
import type { FusedInstruction } from "../../model/wire/node_facts";
import type { Store } from "../../state/store";
import { Facts } from "../../ui/facts";
import { ScopedText } from "../../ui/scoped_text";

/** A longer name is cut in its middle: those of C++ functions may have a thousand letters. */
const LETTERS = 140;
/** Longer lists are cut here until the user asks for the rest. */
const FIRST = 8;

export function EventLink({ store, actions, id }: { store: Store; actions: Actions; id: number }) {
  const name = nameOf(store.drawn, id) || opOf(store.drawn, id);
  const text = name.length > LETTERS ? cutMiddle(name, LETTERS) : name;
  return (
    <button
      type="button"
      class="link"
      title={text === name ? undefined : name}
      onClick={() => actions.visit(id)}
    >
      <b>
        <ScopedText text={text} />
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
    // From the button that shows the rest to the first of them.
    <section data-focus={`li:nth-child(${FIRST + 1}) button`}>
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

/** Facts from the graph about the node that ran, or from a compiled program about the instruction. */
export function NodeSection({ title, facts }: { title: string; facts: [string, string][] }) {
  if (facts.length === 0) return null;
  return (
    <section>
      <h3>{title}</h3>
      <Facts facts={facts.map(([term, value]) => [term, isolated(value)])} />
    </section>
  );
}

/** The instructions that a fusion consists of. */
export function FusedList({ fused }: { fused: FusedInstruction[] }) {
  if (fused.length === 0) return null;
  return (
    <section>
      <h3>Fused instructions</h3>
      <ul class="fused">
        {fused.map(({ name, op, source }) => (
          <li key={name}>
            <span>{isolated(name)}</span>
            {(op || source) && (
              <small title={source || undefined}>
                {[op, source.slice(source.lastIndexOf("/") + 1)].filter(Boolean).map(isolated).join(" · ")}
              </small>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
