/** What differs between a selected event and its counterpart on the other side. */

import { formatBytes, formatCount, formatDuration, formatRatio } from "../../model/format/units";
import { kindOf, locationOf, nameOf, opOf } from "../../model/lanes/event_text";
import { countSteps, stepName } from "../../model/lanes/step_bars";
import { entryOfEvent } from "../../model/lod/merged";
import { counterpart } from "../../model/search/counterpart";
import { type Drawn, NO_STEP } from "../../model/types";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { Facts } from "../../ui/facts";
import { PlainTable } from "../../ui/table";
import { inputsOf, outputKind } from "../details/tensor_texts";

const NAMES = "AB";

interface DifferencesProps {
  stores: readonly Store[];
  /** The side whose event is shown. */
  side: number;
}

export function Differences({ stores, side }: DifferencesProps) {
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
