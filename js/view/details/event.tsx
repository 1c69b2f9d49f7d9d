/** Everything known about one event. */

import type { ComponentChildren } from "preact";
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
import { activityIn, kindOf, locationOf, moves, nameOf, opOf } from "../../model/lanes/event_text";
import { NO_NAME } from "../../model/lanes/labels";
import { stepName } from "../../model/lanes/step_bars";
import { eventAt } from "../../model/lod/merged";
import { activityLabel } from "../../model/paint/palette";
import { NO_STEP, type Step } from "../../model/types";
import type { Edge, EdgeKind } from "../../model/wire/details";
import { annotationsOf } from "../../state/annotations";
import type { Store } from "../../state/store";
import { GraphButton } from "../graph/button";
import { AnnotateButton, AnnotationList } from "./annotation_list";
import { arrivalFacts } from "./collective";
import { PanelHeader } from "./header";
import { Lifetimes } from "./lifetimes";
import { FusedList, LinkList, NodeSection } from "./lists";
import { Outputs, RecordedMemory } from "./records";
import { Source } from "./source";
import { TransferCard, transferFacts } from "./transfer";
import type { EventProps, Fact } from "./types";

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
      <dl>
        {facts.map((fact) => (
          <>
            <dt title={meaningOf(fact.term)}>{fact.term}</dt>
            <dd>{typeof fact.value === "string" ? unbroken(fact.value) : fact.value}</dd>
          </>
        ))}
      </dl>
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
      {drawn.notes.length > 0 && kind === "host" && (
        <p class="unlinked">Host calls overlap the ops they run and are excluded from totals.</p>
      )}
    </>
  );
}

function timeFacts(store: Store, id: number): Fact[] {
  const { drawn, details } = store;
  const start = drawn.start[id];
  const step = ownStep(store, id);
  const facts: Fact[] = [
    { term: "Start", value: <StartTime store={store} id={id} /> },
    { term: "Duration", value: formatDuration(drawn.duration[id]) },
  ];
  const recorded = details?.recorded(id);
  if (recorded)
    facts.push(
      { term: "Recorded start", value: formatTime(recorded.start, 1) },
      { term: "Recorded duration", value: formatDuration(recorded.duration) },
    );
  const scheduled = details?.scheduled(id) ?? null;
  if (scheduled !== null && scheduled <= start) {
    const kernel = ["kernel", "memcpy", "memset", "collective"].includes(kindOf(drawn, id));
    facts.push({
      term: "Queueing delay",
      value: `${formatDuration(start - scheduled)} ${kernel ? "from launch to start" : "from ready to start"}`,
    });
  }
  const slack = details?.slack(id) ?? null;
  if (slack !== null)
    facts.push({
      term: "Spare time",
      value: slack ? formatDuration(slack) : "0 (on the critical path)",
    });
  const compute = details?.compute(id) ?? null;
  if (compute) {
    facts.push({ term: "Kernel call", value: formatDuration(compute.end - compute.start) });
    const overhead = drawn.duration[id] - (compute.end - compute.start);
    if (overhead > 0) facts.push({ term: "Executor", value: `${formatDuration(overhead)} around the call` });
  }
  const { start: from, end: to } = step ?? store.whole;
  if (drawn.duration[id] > 0.0005 * (to - from))
    facts.push({
      term: step ? "Step share" : "Share",
      value: `${formatPercent(drawn.duration[id] / (to - from))} of ${step ? `step ${step.step}` : "the run"}`,
    });
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

function placeFacts(store: Store, id: number): Fact[] {
  const { details } = store;
  const facts: Fact[] = [];
  const bytes = details?.bytes(id) ?? null;
  if (bytes !== null && !moves(store.drawn, id))
    facts.push({
      term: "Output size",
      value: (
        <>
          {formatBytes(bytes)} <small>({formatCount(bytes)} bytes)</small>
        </>
      ),
    });
  facts.push({ term: "Location", value: locationOf(store.drawn, id) });
  const phase = details?.phase(id);
  if (phase) facts.push({ term: "Phase", value: phase });
  for (const [term, value] of details?.node(id).placement ?? []) facts.push({ term, value });
  for (const [term, value] of details?.ids(id) ?? []) facts.push({ term, value });
  const { step, steps } = store.run;
  if (step && steps.length > 1)
    facts.push({ term: "Step", value: stepName(steps[step[id]]).replace(/^Step /, "") });
  const same = sameName(store, id);
  if (same && same.count > 1)
    facts.push({
      term: "Same name",
      value: `${formatNumber(same.count, "event")}, ${formatDuration(same.total)} in total`,
    });
  return facts;
}

/**
 * Events with the name and kind of event `id` (an op and its kernel share the name); null while not known.
 */
function sameName(store: Store, id: number): { count: number; total: number } | null {
  if (HAS_KERNEL && store.remote) return store.remote.sameName(id);
  const { drawn } = store;
  const ids = store.derived.sameName(id).filter((other) => kindOf(drawn, other) === kindOf(drawn, id));
  return { count: ids.length, total: ids.reduce((sum, other) => sum + drawn.duration[other], 0) };
}
