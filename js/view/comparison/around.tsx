/** The frame around two compared timelines: the headline, one toolbar, one legend, and details of either. */

import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { runKey } from "../../input/keyboard";
import { formatBytes, formatCount, formatDuration, formatRatio, unbroken } from "../../model/format/units";
import { kindOf, locationOf, nameOf, opOf } from "../../model/lanes/event_text";
import { countSteps, stepName } from "../../model/lanes/step_bars";
import { entryOfEvent } from "../../model/lod/merged";
import { counterpart } from "../../model/search/counterpart";
import { type Drawn, NO_STEP } from "../../model/types";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { Facts } from "../../ui/facts";
import type { OwnKeys } from "../../ui/own_keys";
import { PlainTable } from "../../ui/table";
import { CodePane } from "../code/pane";
import { DetailsPanel } from "../details/panel";
import { RangePane } from "../details/range_pane";
import { inputsOf, outputKind } from "../details/tensor_texts";
import { GraphPane } from "../graph/pane";
import type { Mounted } from "../mount";
import { ExportMenu } from "../parts/export_menu";
import { Help } from "../parts/help";
import { SearchBox } from "../parts/search_box";
import { DetailsSplitter } from "../parts/skeleton";
import { StatusLine } from "../parts/status_line";
import { Controls } from "../parts/toolbar";

interface AroundProps {
  /** How much faster or slower the lower one is, and in what. */
  headline: readonly string[];
  /** Holds the panes of both. */
  both: HTMLElement;
  panes: readonly HTMLElement[];
  /** The timelines that could be shown; empty until they are. */
  shown: readonly Mounted[];
  root: HTMLElement;
  keys: OwnKeys;
}

export function Around({ headline, both, panes, shown, root, keys }: AroundProps) {
  const [used, setUsed] = useState(0);
  // The details are of the timeline that was used last; the other one may follow its selection.
  useEffect(() => {
    const listening = new AbortController();
    const options = { capture: true, signal: listening.signal };
    panes.forEach((pane, side) => {
      for (const kind of ["pointerdown", "keydown"])
        pane.addEventListener(kind, () => setUsed(side), options);
    });
    return () => listening.abort();
  }, []);
  const current = shown[used] ?? shown[0];
  useLayoutEffect(() => {
    if (!current) return;
    keys.home = () => current.lanes;
    keys.press = (event, where) => runKey(event, current.actions, where);
  }, [current]);
  return (
    <>
      <Headline sentences={headline} />
      {current && <Toolbar {...{ headline, shown, current, root }} />}
      <div class="body">
        <div class="column">
          <div
            class="panes"
            ref={(place) => {
              if (place?.firstChild !== both) place?.append(both);
            }}
          />
          {current && <RangePane key={shown.indexOf(current)} {...current} />}
          {current && <GraphPane key={shown.indexOf(current)} {...{ ...current, root }} />}
          {current && <CodePane key={shown.indexOf(current)} {...current} />}
        </div>
        <DetailsSplitter />
        {current && <Details {...{ shown, current, setUsed }} />}
      </div>
      {current && (
        <StatusLine
          store={current.store}
          stores={shown.map(({ store }) => store)}
          isMac={/mac/i.test(navigator.platform)}
        />
      )}
      {shown.map(({ store }) => (
        <Help key={store.drawn.title} store={store} />
      ))}
    </>
  );
}

function Headline({ sentences }: { sentences: readonly string[] }) {
  if (sentences.length === 0) return null;
  const [first, ...rest] = sentences.map(unbroken);
  return (
    <h2 class="verdict">
      {first} {rest.length > 0 && <span>{rest.join(" ")}</span>}
    </h2>
  );
}

interface ShownProps {
  shown: readonly Mounted[];
  current: Mounted;
}

function Toolbar({ shown, current, headline, root }: ShownProps & Pick<AroundProps, "headline" | "root">) {
  const { store, actions } = shown[0];
  const stores = shown.map((each) => each.store);
  const searched = useSearched(stores, stores.indexOf(current.store));
  const pictured = () => {
    const roots = [...root.querySelectorAll(".tfvis-timeline")].flatMap(
      (pane) => pane.shadowRoot?.querySelector<HTMLElement>(".tfv[data-drawn]") ?? [],
    );
    const timelines = roots.map((each, side) => ({ root: each, store: stores[side] }));
    return { headline: headline.join(" "), timelines };
  };
  return (
    <div class="toolbar">
      <SearchBox store={stores[searched]} actions={shown[searched].actions} />
      <span class="space" />
      <Controls
        {...{ store, actions, stores }}
        exports={<ExportMenu store={current.store} root={root} pictured={pictured} />}
      />
    </div>
  );
}

/** Whose matches are counted and gone to: those of the current side, unless only the other one has some. */
function useSearched(stores: readonly Store[], current: number): number {
  for (const store of stores) useTopics(store, ["search"]);
  const found = (side: number) => stores[side].matches?.count ?? 0;
  const other = stores.findIndex((_, side) => side !== current);
  return other >= 0 && found(current) === 0 && found(other) > 0 ? other : current;
}

function Details({ shown, current, setUsed }: ShownProps & { setUsed: (side: number) => void }) {
  const { store, actions } = current;
  const side = shown.indexOf(current);
  useTopics(store, ["panel"]);
  if (!store.panelOpen) return null;
  return (
    <div class="details-column">
      {shown.length > 1 && (
        <div class="segmented" role="group" aria-label="Details of">
          {shown.map((each, side) => (
            <button
              key={each.store.drawn.title}
              type="button"
              aria-pressed={each === current}
              title={each.store.drawn.title}
              onClick={() => setUsed(side)}
            >
              {"AB"[side]}
            </button>
          ))}
        </div>
      )}
      <DetailsPanel
        key={side}
        {...{ store, actions }}
        before={shown.length > 1 && <Differences stores={shown.map((each) => each.store)} side={side} />}
      />
    </div>
  );
}

const NAMES = "AB";

interface DifferencesProps {
  stores: readonly Store[];
  /** The side whose event is shown. */
  side: number;
}

function Differences({ stores, side }: DifferencesProps) {
  const [own, other] = [stores[side], stores[1 - side]];
  for (const store of [own, other]) useTopics(store, ["selection", "details", "layout"]);
  const here = selectedEvent(own);
  if (here === null) return null;
  const there = counterpartOf(own, here, other);
  if (there === null)
    return (
      <p class="differs">
        {other.run.rest
          ? `${NAMES[1 - side]} has no counterpart that is loaded.`
          : `Only in ${NAMES[side]}: ${NAMES[1 - side]} has no event of this name, op and kind.`}
      </p>
    );
  const facts = [factsOf(own, here), factsOf(other, there)];
  const [a, b] = side === 0 ? facts : facts.reverse();
  // A fact that one side lacks was not recorded there.
  const texts = [...a.texts].filter(([term, text]) => (b.texts.get(term) ?? text) !== text);
  const isRepeated = a.count > 1 || b.count > 1;
  const per = a.steps + b.steps > 2 ? " per step" : "";
  const hint = `All events of this name, op and kind${per && ", divided by the number of steps"}`;
  return (
    <section class="differs">
      <PlainTable
        name="Difference"
        heads={[
          [<span class="visually-hidden">Figure</span>],
          ["A"],
          ["B"],
          [
            <>
              B − A <small>B / A</small>
            </>,
          ],
        ]}
        rows={[
          figures("Duration", a.duration, b.duration, formatDuration),
          ...(isRepeated
            ? [
                figures(`Total${per}`, a.total / a.steps, b.total / b.steps, formatDuration, hint),
                figures(`Count${per}`, a.count / a.steps, b.count / b.steps, rounded, hint),
              ]
            : []),
        ]}
      />
      {texts.length > 0 && (
        <Facts
          facts={texts.map(([term, text]) => [
            term,
            <>
              A: {text}
              <br />
              B: {b.texts.get(term)}
            </>,
          ])}
        />
      )}
    </section>
  );
}

const rounded = (count: number) => formatCount(Math.round(100 * count) / 100);

function figures(term: string, a: number, b: number, format: (value: number) => string, hint?: string) {
  return [
    <span title={hint}>{term}</span>,
    format(a),
    format(b),
    <>
      {b > a && "+"}
      {format(b - a)} <small>{formatRatio(b / a)}</small>
    </>,
  ];
}

/** The one selected event, by its place in the run. */
function selectedEvent(store: Store): number | null {
  const selection = store.host.get("selection");
  if (!selection || !("events" in selection) || selection.events.length !== 1) return null;
  return entryOfEvent(store.run, selection.events[0]);
}

/** The event that is selected on the other side if it is the same node, else the nearest of this node in time. */
function counterpartOf({ run }: Store, id: number, other: Store): number | null {
  const described = { name: nameOf(run, id), op: opOf(run, id), kind: kindOf(run, id) };
  const selected = selectedEvent(other);
  const isSame =
    selected !== null &&
    nameOf(other.run, selected) === described.name &&
    opOf(other.run, selected) === described.op &&
    kindOf(other.run, selected) === described.kind;
  return isSame ? selected : counterpart(other.run, { ...described, start: run.start[id] });
}

function factsOf(store: Store, id: number) {
  const { run, details } = store;
  // Events outside steps are counted over the whole run.
  const steps = isOutside(run, id) ? 1 : Math.max(countSteps(run.steps), 1);
  const texts = new Map([["Location", locationOf(run, id)]]);
  if (run.step) texts.set("Step", stepName(run.steps[run.step[id]]));
  for (const [at, { kind }] of inputsOf(store, id).entries()) if (kind) texts.set(`Input ${at}`, kind);
  for (const output of details?.outputs(id) ?? []) texts.set(`Output ${output.slot}`, outputKind(output));
  const bytes = details?.bytes(id) ?? null;
  if (bytes !== null) texts.set("Size", formatBytes(bytes));
  return { duration: run.duration[id], steps, texts, ...sameEvents(store, id) };
}

function isOutside({ step, steps }: Drawn, id: number): boolean {
  return step !== null && steps[step[id]].step === NO_STEP;
}

/** Number and summed durations of the events with the name, op and kind of one, in steps or outside like it. */
function sameEvents({ run, remote }: Store, id: number): { count: number; total: number } {
  if (remote) return remote.sameName(id) ?? { count: 1, total: run.duration[id] };
  let [count, total] = [0, 0];
  for (let each = 0; each < run.count; each++) {
    if (run.name[each] !== run.name[id] || run.op[each] !== run.op[id]) continue;
    if (kindOf(run, each) !== kindOf(run, id) || isOutside(run, each) !== isOutside(run, id)) continue;
    count++;
    total += run.duration[each];
  }
  return { count, total };
}
