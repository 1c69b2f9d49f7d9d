/** Chooses what takes longer or shorter, and shows the step that the kernel predicts for it. */

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Change } from "../../host/messages";
import { isolated } from "../../model/format/bidi";
import { formatDuration, formatPercent, unbroken } from "../../model/format/units";
import { meaningOf } from "../../model/glossary";
import { activityColour, activityLabel } from "../../model/paint/palette";
import type { Outcome, PredictedTime, TimedPart, WhatIfBlock } from "../../model/wire/schema";
import { BlockHead } from "../../ui/block_head";
import type { PanelsHost } from "../host";

const ON_TIME = "on_time";
const ONE = "what-if-one";

type Predicting = PanelsHost & Required<Pick<PanelsHost, "predict" | "openPredicted">>;

interface WhatIfProps {
  block: WhatIfBlock;
  host: Predicting;
}

export function canPredict(host: PanelsHost): host is Predicting {
  return !!host.predict && !!host.openPredicted;
}

export function WhatIf({ block: { title, definition, choices, now }, host }: WhatIfProps) {
  const [change, setChange] = useState<Change>(() => keptOf(choices, host.change) ?? firstOf(choices[0]));
  const [then, setThen] = useState<Outcome | null>(null);
  const [reason, setReason] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const show = (_: Change, answer: Outcome | null, why: string) => {
    setBusy(false);
    setThen(answer);
    setReason(why);
  };
  const latest = useMemo(() => new Latest(host.predict, show), []);
  const choice = choices.find(({ subject }) => subject === change.subject) ?? choices[0];
  const put = (next: Change) => {
    setChange(next);
    setOpen(false);
    host.change = next;
    predict(next);
  };
  const predict = (next: Change) => {
    const isSame = next.how === 1 && next.subject !== ON_TIME;
    if (isSame) show(next, null, "");
    else setBusy(true);
    latest.put(isSame ? null : next);
  };
  useEffect(() => {
    if (host.change) predict(change);
  }, []);
  const open = () => {
    setBusy(true);
    host.openPredicted(change).then(
      () => {
        show(change, then, "");
        setOpen(true);
      },
      (error: unknown) => show(change, then, error instanceof Error ? error.message : String(error)),
    );
  };
  return (
    <section class="block what-if">
      <BlockHead title={title} definition={definition} />
      <div class="what-if-control">
        <select
          aria-label="What changes"
          value={change.subject}
          onChange={({ currentTarget }) => put(firstOf(choices[currentTarget.selectedIndex], change.how))}
        >
          {choices.map(({ subject, label }) => (
            <option key={subject} value={subject}>
              {label}
            </option>
          ))}
        </select>
        <select
          aria-label={choice.label}
          value={change.name}
          onChange={({ currentTarget }) => put({ ...change, name: currentTarget.value })}
        >
          {choice.names.map(([name, label]) => (
            <option key={name} value={name}>
              {isolated(label)}
            </option>
          ))}
        </select>
        {change.subject !== ON_TIME && <How {...{ change, choice, put }} />}
        <button type="button" disabled={!then || isBusy} onClick={open}>
          Open predicted timeline
        </button>
      </div>
      <Bars now={now} then={then} />
      <p class="what-if-result" role="status" aria-busy={isBusy}>
        {reason ? `Not available: ${reason}.` : isBusy ? "Predicting …" : resultText(then)}
        {isOpen && " The predicted timeline is below the tabs."}
      </p>
    </section>
  );
}

interface HowProps {
  change: Change;
  choice: WhatIfBlock["choices"][number];
  put: (next: Change) => void;
}

/** A factor of the time, dragged, or one of the other ways. */
function How({ change, choice, put }: HowProps) {
  const { how } = change;
  return (
    <>
      <select
        aria-label="How it changes"
        onChange={({ currentTarget: { value } }) => put({ ...change, how: value || 1 })}
      >
        <option value="" selected={typeof how === "number"}>
          its time ×
        </option>
        {choice.how.map(([way, label]) => (
          <option key={way} value={way} selected={how === way}>
            {label}
          </option>
        ))}
      </select>
      {typeof how === "number" && (
        <span class="what-if-factor">
          <input
            type="range"
            aria-label="Factor of its time"
            min={0}
            max={2}
            step={0.05}
            list={ONE}
            value={how}
            aria-valuetext={`${how} times as recorded`}
            onInput={({ currentTarget }) => put({ ...change, how: Number(currentTarget.value) })}
          />
          <datalist id={ONE}>
            <option value="1" />
          </datalist>
          <b aria-hidden="true">{how}</b>
        </span>
      )}
    </>
  );
}

/** The change that an earlier run of the cell has kept, if it is one of these choices. */
function keptOf(choices: WhatIfBlock["choices"], kept: Change | null | undefined): Change | undefined {
  const choice = choices.find(({ subject }) => subject === kept?.subject);
  if (!kept || !choice?.names.some(([name]) => name === kept.name)) return undefined;
  return { ...kept, how: firstOf(choice, kept.how).how };
}

/** The first name of a subject, with the previous change if it applies. */
function firstOf(choice: WhatIfBlock["choices"][number], how: Change["how"] = 1): Change {
  const { subject, names } = choice;
  const isKnown = typeof how === "number" || choice.how.some(([way]) => way === how);
  return { subject, name: names[0][0], how: isKnown ? how : 1 };
}

function resultText(then: Outcome | null): string {
  if (!then) return "Drag the slider to see the step with another time.";
  const { step, task, all_steps, drift, loop, doubt } = then;
  const sentences = [
    `${step}${task && ` (bars of ${task})`}: ${timesText(then)}`,
    ...(loop ? [`Loop, per step: ${timesText(loop)}`] : []),
    ...(all_steps === null ? [] : [`${all_steps[0]}: ${changeText(all_steps[1])}`]),
    `A replay without a change is off by ${drift}`,
    ...(doubt ? [`Not trusted: ${doubt}`] : []),
  ];
  return unbroken(`${sentences.join(". ")}.`);
}

function timesText({ recorded_ns, predicted_ns, range }: PredictedTime): string {
  const most = range ? ` (${range.map(formatDuration).join(" to ")})` : "";
  return `${formatDuration(predicted_ns)} instead of ${formatDuration(recorded_ns)}, ${changeText(1 - predicted_ns / Math.max(recorded_ns, 1))}${most}`;
}

function changeText(saved: number): string {
  return saved === 0 ? "as long" : `${formatPercent(Math.abs(saved))} ${saved > 0 ? "shorter" : "longer"}`;
}

interface Bar {
  label: string;
  ns: number;
  parts: readonly TimedPart[];
  isPredicted: boolean;
}

/** The bars of `now`, as recorded, and of `then`, if something is predicted. */
function Bars({ now, then }: { now: Outcome; then: Outcome | null }) {
  const bars: Bar[] = [
    { label: "Recorded", ns: now.recorded_ns, parts: now.parts, isPredicted: false },
    {
      label: "Predicted",
      ns: (then ?? now).predicted_ns,
      parts: (then ?? now).parts,
      isPredicted: true,
    },
  ];
  const longest = Math.max(...bars.map(({ ns }) => ns), 1);
  const names = new Set(bars.flatMap(({ parts }) => parts.map(({ name }) => name)));
  return (
    <>
      <dl class="what-if-bars">
        {bars.map(({ label, ns, parts, isPredicted }) => (
          <>
            <dt>{label}</dt>
            <dd>
              <div
                class="stack"
                role="img"
                aria-label={`${label}: ${parts.map(partText).join("; ")}`}
                data-predicted={isPredicted || undefined}
                style={{ width: `${(100 * ns) / longest}%` }}
              >
                {parts.map((part) => (
                  <i
                    key={part.name}
                    title={[partText(part), meaningOf(activityLabel(part.name))].join("\n")}
                    style={{ flexGrow: part.ns / Math.max(ns, 1), background: colourOf(part.name) }}
                  />
                ))}
              </div>
            </dd>
            <dd>{formatDuration(ns)}</dd>
          </>
        ))}
      </dl>
      <p class="step-legend">
        {[...names].map((name) => (
          <span key={name} title={meaningOf(activityLabel(name))}>
            <i class="swatch" style={{ background: colourOf(name) }} />
            {activityLabel(name)}
          </span>
        ))}
      </p>
    </>
  );
}

function partText({ name, ns }: TimedPart): string {
  return `${activityLabel(name)} ${formatDuration(ns)}`;
}

function colourOf(name: string): string {
  return `light-dark(${activityColour(name, "light")}, ${activityColour(name, "dark")})`;
}

const PAUSE_MS = 120;

/** Asks for the latest of questions that change faster than answers come: after a pause, and one at a time. */
export class Latest<Question, Answer> {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #waiting: Question | null = null;
  #isBusy = false;
  /** Whether the question under way was taken back. */
  #isDropped = false;

  /** `ask` may reject; `show` gets each answer or reason with its question. */
  constructor(
    readonly ask: (question: Question) => Promise<Answer>,
    readonly show: (question: Question, answer: Answer | null, reason: string) => void,
  ) {}

  /** Replace the pending request; null removes it, and drops the answer to the current one. */
  put(question: Question | null): void {
    this.#waiting = question;
    this.#isDropped ||= question === null;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#next(), PAUSE_MS);
  }

  async #next(): Promise<void> {
    const question = this.#waiting;
    if (this.#isBusy || question === null) return;
    this.#waiting = null;
    this.#isBusy = true;
    this.#isDropped = false;
    const asked = await this.ask(question).then(
      (answer) => ({ answer, reason: "" }),
      (error: unknown) => ({ answer: null, reason: error instanceof Error ? error.message : String(error) }),
    );
    this.#isBusy = false;
    if (!this.#isDropped) this.show(question, asked.answer, asked.reason);
    this.#next();
  }
}
