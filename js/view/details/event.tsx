/** Everything known about one event. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { isolated, withoutControls } from "../../model/format/bidi";
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatNumber,
  formatPercent,
  formatTime,
  unbroken,
} from "../../model/format/units";
import { meaningOf } from "../../model/glossary";
import {
  activityIn,
  isLaunched,
  kindOf,
  locationOf,
  moves,
  nameOf,
  opOf,
  taskName,
} from "../../model/lanes/event_text";
import { NO_NAME } from "../../model/lanes/labels";
import { shownWith } from "../../model/lanes/shown_with";
import { stepName } from "../../model/lanes/step_bars";
import { eventAt } from "../../model/lod/merged";
import { activityLabel } from "../../model/paint/palette";
import { NO_STEP, type Step } from "../../model/types";
import type { Frame } from "../../model/wire/code";
import type { Edge, EdgeKind } from "../../model/wire/details";
import type { Buffer, Memory, Output, OwnMemory, Referenced } from "../../model/wire/records";
import { annotationsOf } from "../../state/annotations";
import type { Store } from "../../state/store";
import { lastUser, type Tensor, tensorsOf } from "../../state/tensors";
import { type Fact, Facts } from "../../ui/facts";
import { PlainTable } from "../../ui/table";
import { placeLabel } from "../code/line_text";
import { GraphButton } from "../graph/button";
import { AnnotateButton, AnnotationList } from "./annotation_list";
import { PanelHeader } from "./header";
import { EventLink, FusedList, LinkList, NodeSection } from "./lists";
import {
  aliasNames,
  ESTIMATED,
  handedOn,
  lengthText,
  lifeText,
  makerOf,
  partText,
  sizeText,
} from "./tensor_texts";
import { TransferCard, transferFacts } from "./transfer";
import type { EventProps } from "./types";

export function EventDetails({ store, actions, id, before }: EventProps & { before: ComponentChildren }) {
  const { drawn, details } = store;
  const kind = kindOf(store.drawn, id);
  const activity = activityIn(drawn.categories[drawn.category[id]] ?? "op none");
  const { paints } = store.painting;
  const colour = (paints.colour[id] ?? 0) & 127;
  const facts = [
    ...timeFacts(store, id),
    ...arrivalFacts({ store, actions, id }),
    ...transferFacts({ store, actions, id }),
    ...placeFacts(store, id),
  ];
  const label = details?.label(id) ?? "";
  const node = details?.node(id);
  const inputs = details?.inputs(id) ?? [];
  const consumers = details?.consumers(id) ?? [];
  const links = (title: string, edges: Edge[], kinds: EdgeKind[]) => {
    const events = edges.filter(({ kind }) => kinds.includes(kind)).map(({ event }) => event);
    return <LinkList {...{ store, actions, title, events }} />;
  };
  return (
    <>
      <PanelHeader store={store} title={nameOf(store.drawn, id) || opOf(store.drawn, id) || NO_NAME} />
      <div class="below-title">
        <span class="chip" style={{ background: paints.css[colour], color: paints.text[colour] }}>
          {opOf(store.drawn, id) || kind}
        </span>
        {activity !== "none" && <span class="chip plain">{activityLabel(activity)}</span>}
        <span class="buttons">
          <AnnotateButton actions={actions} />
          <GraphButton store={store} actions={actions} id={id} />
        </span>
      </div>
      {before}
      <AnnotationList
        {...{ store, actions }}
        annotations={annotationsOf(store, { events: [eventAt(drawn, id)] })}
      />
      <TransferCard store={store} actions={actions} id={id} />
      <Facts
        facts={facts.map(([term, value]) => [
          term,
          typeof value === "string" ? unbroken(value) : value,
          undefined,
          meaningOf(term),
        ])}
      />
      {details === null && <p class="unlinked">{store.detailsError ?? "Loading the rest …"}</p>}
      <Source {...{ store, actions, id }} />
      {links("Launched by", inputs, ["launch"])}
      {links("Launched", consumers, ["launch"])}
      {links("Arrows from", inputs, ["flow"])}
      {links("Arrows to", consumers, ["flow"])}
      {kind !== "transfer" && (
        <>
          {links("Inputs", inputs, ["data", "transfer"])}
          {links("Control inputs", inputs, ["control"])}
          {links("Consumers", consumers, ["data", "transfer", "control"])}
        </>
      )}
      {details && kind !== "transfer" && <Outputs outputs={details.outputs(id)} />}
      <Lifetimes {...{ store, actions, id }} />
      {details && (
        <RecordedMemory
          memory={details.memory(id)}
          own={details.ownMemory(id)}
          referenced={details.referenced(id)}
        />
      )}
      <NodeSection title="Compiled program" facts={node?.program ?? []} />
      <FusedList fused={node?.fused ?? []} />
      <NodeSection title="Graph node" facts={node?.node ?? []} />
      {label && (
        <>
          <h3>Raw details</h3>
          <pre>{label}</pre>
        </>
      )}
    </>
  );
}

function timeFacts(store: Store, id: number): Fact[] {
  const { drawn, details } = store;
  const start = drawn.start[id];
  const step = ownStep(store, id);
  const facts: Fact[] = [
    ["Start", <StartTime store={store} id={id} />],
    ["Duration", formatDuration(drawn.duration[id])],
  ];
  const recorded = details?.recorded(id);
  if (recorded)
    facts.push(
      ["Recorded start", formatTime(recorded.start, 1)],
      ["Recorded duration", formatDuration(recorded.duration)],
    );
  const scheduled = details?.scheduled(id) ?? null;
  if (scheduled !== null && scheduled <= start) {
    facts.push([
      "Queueing delay",
      `${formatDuration(start - scheduled)} ${isLaunched(drawn, id) ? "from launch to start" : "from ready to start"}`,
    ]);
  }
  const slack = details?.slack(id) ?? null;
  if (slack !== null) facts.push(["Spare time", slack ? formatDuration(slack) : "0 (on the critical path)"]);
  const compute = details?.compute(id) ?? null;
  if (compute) {
    facts.push(["Kernel call", formatDuration(compute.end - compute.start)]);
    const overhead = drawn.duration[id] - (compute.end - compute.start);
    if (overhead > 0) facts.push(["Executor", `${formatDuration(overhead)} around the call`]);
  }
  const { start: from, end: to } = step ?? store.whole;
  if (drawn.duration[id] > 0.0005 * (to - from))
    facts.push([
      "Share",
      `${formatPercent(drawn.duration[id] / (to - from))} of ${step ? `step ${step.step}` : "the run"}`,
    ]);
  return facts;
}

/** The step of an event, with its length; null outside steps, and without several steps. */
function ownStep({ run }: Store, id: number): Step | null {
  const step = run.step && run.steps[run.step[id]];
  return step && step.step !== NO_STEP && step.end > step.start ? step : null;
}

/** Start of an event on the axis and, with several steps, within its own step. */
function StartTime({ store, id }: { store: Store; id: number }) {
  const start = store.run.start[id];
  const step = ownStep(store, id);
  return (
    <>
      {formatTime(start, 1)}
      {step && <small> ({`${formatTime(start - step.start, 1)} into step ${step.step}`})</small>}
    </>
  );
}

/** Host threads and devices may run in the time of a step without being recorded as a part of it. */
function stepText({ run }: Store, at: number, id: number): string {
  const own = run.steps[at];
  const during = run.steps.filter(({ step }, other) => step !== NO_STEP && shownWith(run, other)(id));
  if (own.step !== NO_STEP || !during.length) return stepName(own).replace(/^Step /, "");
  const numbers = new Set([during[0].step, during.at(-1)!.step]);
  return `None recorded, runs during ${[...numbers].join(" to ")}`;
}

function placeFacts(store: Store, id: number): Fact[] {
  const { details } = store;
  const facts: Fact[] = [];
  const bytes = details?.bytes(id) ?? null;
  if (bytes !== null && !moves(store.drawn, id))
    facts.push([
      "Output size",
      <>
        {formatBytes(bytes)} <small>({formatCount(bytes)} bytes)</small>
      </>,
    ]);
  facts.push(["Location", locationOf(store.drawn, id)]);
  const phase = details?.phase(id);
  if (phase) facts.push(["Phase", phase]);
  for (const [term, value] of details?.node(id).placement ?? []) facts.push([term, value]);
  for (const [term, value] of details?.ids(id) ?? []) facts.push([term, value]);
  if (store.run.step && store.run.steps.length > 1)
    facts.push(["Step", stepText(store, store.run.step[id], id)]);
  const same = store.sameName(id);
  if (same && same.count > 1)
    facts.push(["Same name", `${formatNumber(same.count, "event")}, ${formatDuration(same.total)} in total`]);
  return facts;
}

/** Longer lists are cut here until the user asks for the rest. */
const FIRST_TENSORS = 6;

function Lifetimes({ store, actions, id }: EventProps) {
  const [all, setAll] = useState(false);
  const tensors = tensorsOf(store, eventAt(store.drawn, id));
  if (tensors.length === 0) return null;
  const isEstimated = tensors.some(({ track }) => track.estimated);
  const shown = all ? tensors : tensors.slice(0, FIRST_TENSORS);
  return (
    <section aria-label="Lifetimes">
      <h3 title={isEstimated ? ESTIMATED : undefined}>Lifetimes{isEstimated ? " (estimated)" : ""}</h3>
      <table class="lifetimes" aria-label="Lifetimes of buffers">
        <thead>
          <tr>
            <th>Buffer</th>
            <th>Size</th>
            <th title="From its allocation to its free">Lived</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((tensor) => (
            <Lifetime key={`${tensor.track.allocator} ${tensor.at}`} {...{ store, actions, tensor }} />
          ))}
        </tbody>
      </table>
      {tensors.length > shown.length && (
        <button type="button" class="link" onClick={() => setAll(true)}>
          <b>{tensors.length - shown.length} more</b>
        </button>
      )}
    </section>
  );
}

function Lifetime({ store, actions, tensor }: Omit<EventProps, "id"> & { tensor: Tensor }) {
  const { track } = tensor;
  const user = lastUser(store, tensor);
  const aliases = handedOn(store, tensor, FIRST_TENSORS);
  return (
    <>
      <tr title={`${lifeText(tensor)}; ${track.allocator}`}>
        <td>{partText(store, tensor)}</td>
        <td>{sizeText(tensor)}</td>
        <td>{lengthText(tensor)}</td>
      </tr>
      {aliases && (
        <tr class="more">
          <td colSpan={3}>
            <small title={aliasNames(store, tensor).join("\n")}>{aliases}</small>
          </td>
        </tr>
      )}
      {user !== null && user !== makerOf(store, tensor) && (
        <tr class="more">
          <td colSpan={3}>
            <small>last used by</small> <EventLink store={store} actions={actions} id={user} />
          </td>
        </tr>
      )}
    </>
  );
}

function arrivalFacts({ store, actions, id }: EventProps): Fact[] {
  const spread = store.details?.spread(id);
  if (!spread) return [];
  const last = store.details!.last(id);
  const after = `${formatDuration(spread)} after the first`;
  if (last === null) return [["Last rank", `this one, ${after}`]];
  const event = lastArrived(store, id, last);
  const name = taskName(last);
  return [
    [
      "Waited for",
      <>
        {event === null ? name : <EventLink store={store} actions={actions} id={event} />}{" "}
        <small>
          {event !== null && name} came last, {after}
        </small>
      </>,
    ],
  ];
}

/** The row of the same collective on the last rank; null if it is not loaded. */
function lastArrived(store: Store, id: number, task: string): number | null {
  if (HAS_KERNEL && store.run.rest) return null;
  const { drawn } = store;
  const kind = kindOf(store.drawn, id);
  const isIt = (other: number) =>
    drawn.lanes[drawn.lane[other]].task === task &&
    kindOf(store.drawn, other) === kind &&
    // For a node in a loop, the execution at that time.
    drawn.start[other] <= store.end(id) &&
    store.end(other) >= drawn.start[id];
  return store.derived.sameName(id).find(isIt) ?? null;
}

/** With more frames, the user's own come first until all are requested. */
const FIRST_FRAMES = 8;

function Source({ store, actions, id }: EventProps) {
  const [all, setAll] = useState(false);
  const stack = store.details?.stack(id) ?? [];
  if (stack.length === 0) return null;
  const own = stack.filter(({ file }) => file.own);
  const shown = all || own.length === 0 ? stack : own;
  const frames = all ? shown : shown.slice(0, FIRST_FRAMES);
  const open = ({ file, line }: Frame) => actions.toggleCode({ file: file.name, line });
  return (
    <section class="source">
      <h3>Source</h3>
      {own.length > 0 && <Snippet {...{ store, actions, id }} />}
      <ol class="links" aria-label="Stack">
        {frames.map((frame, at) => (
          <li key={at}>
            <button type="button" class="link" title={frame.file.name} onClick={() => open(frame)}>
              <b>{placeLabel({ file: frame.file.name, line: frame.line })}</b>{" "}
              {frame.function && <small>in {isolated(frame.function)}</small>}
            </button>
          </li>
        ))}
      </ol>
      {stack.length > frames.length && (
        <button type="button" class="link" onClick={() => setAll(true)}>
          <b>All {stack.length} calls</b>
        </button>
      )}
    </section>
  );
}

/** The line with the one before and the one after. */
function Snippet({ store, id }: EventProps) {
  const { line, file, text } = store.details!.ownFrame(id)!;
  const known = store.code?.files.find(({ name }) => name === file.name);
  const texts = known && store.code?.text(known);
  const around = [line - 1, line, line + 1].flatMap((number) => {
    const found = texts?.get(number) ?? (number === line ? text : undefined);
    return found === undefined ? [] : [{ number, text: withoutControls(found) }];
  });
  const indents = around.flatMap((each) => (each.text.trim() ? [each.text.search(/\S/)] : []));
  const indent = Math.min(...indents);
  return (
    <pre class="snippet">
      {around.map((each) => (
        <div key={each.number} aria-current={each.number === line}>
          <i>{each.number}</i>
          <code>{each.text.slice(indent) || " "}</code>
        </div>
      ))}
    </pre>
  );
}

const BUFFER =
  "The allocator's number for the memory; on CPUs each op counts anew. Shared: another tensor also used it.";

/** A number of bytes that may not have been recorded. */
const size = (bytes: number | null) => (bytes === null ? "–" : formatBytes(bytes));

const named = (buffer: Buffer | null) => {
  if (buffer === null) return "–";
  return buffer.isShared ? `${buffer.id}, shared` : `${buffer.id}`;
};

export function Outputs({ outputs }: { outputs: readonly Output[] }) {
  if (outputs.length === 0) return null;
  const hasBuffers = outputs.some(({ buffer }) => buffer !== null);
  return (
    <section>
      <h3>Outputs</h3>
      <PlainTable
        name="Outputs"
        heads={[["Type"], ["Shape"], ["Size"], hasBuffers && ["Buffer", BUFFER]]}
        rows={outputs.map(({ slot, dtype, shape, bytes, buffer }) => [
          `${slot}: ${isolated(dtype || "unknown")}`,
          isolated(shape),
          size(bytes),
          hasBuffers && named(buffer),
        ])}
      />
    </section>
  );
}

interface MemoryProps {
  memory: readonly Memory[];
  own: OwnMemory | null;
  referenced: readonly Referenced[];
}

function RecordedMemory({ memory, own, referenced }: MemoryProps) {
  const held = own ? sentences(own) : [];
  if (memory.length === 0 && held.length === 0 && referenced.length === 0) return null;
  return (
    <section>
      <h3>Memory</h3>
      <PlainTable
        name="Memory by allocator"
        heads={[
          ["Allocator"],
          ["Total", "All memory that this execution allocated"],
          ["Peak", "Largest amount at one time"],
          ["Live", "Memory still held at its end"],
        ]}
        rows={memory.map(({ allocator, total, peak, live }) => [
          <span title={allocator}>{allocator}</span>,
          ...[total, peak, live].map(size),
        ])}
      />
      {held.map((sentence) => (
        <p key={sentence} class="unlinked">
          {sentence}
        </p>
      ))}
      <PlainTable
        name="Memory referenced"
        heads={[
          ["Referenced", "Tensors that this execution used, by the allocator of their memory"],
          ["Size"],
          ["Buffer", BUFFER],
        ]}
        rows={referenced.map(({ allocator, bytes, buffer }) => [
          <span title={allocator}>{allocator}</span>,
          size(bytes),
          named(buffer),
        ])}
      />
    </section>
  );
}

function sentences(own: OwnMemory): string[] {
  const ids = (texts: string) => (texts ? `, buffer${texts.includes(",") ? "s" : ""} ${texts}` : "");
  const kinds: [number | null, string, string][] = [
    [own.temp, "temporary", ""],
    [own.persistent, "persistent", own.persistentIds],
    [own.deviceTemp, "temporary on the device", ""],
    [own.devicePersistent, "persistent on the device", own.devicePersistentIds],
  ];
  return kinds
    .filter(([bytes, , texts]) => bytes || texts)
    .map(([bytes, kind, texts]) => `${formatBytes(bytes ?? 0)} ${kind}${ids(texts)}`);
}
