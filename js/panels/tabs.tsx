/** Tabs of overviews, charts, tables or findings, each shown once it is computed. */

import { useEffect, useReducer, useState } from "preact/hooks";
import { Chart } from "../charts/chart";
import type { LinkMessage, RangeFigures } from "../host/channel";
import { formatCount, formatDuration, formatPercent, unbroken } from "../model/format/units";
import { activityColour } from "../model/paint/palette";
import { NO_STEP } from "../model/types";
import type {
  Block,
  Finding,
  FindingsBlock,
  OverviewLine,
  Part,
  Stage,
  StagesBlock,
} from "../model/wire/schema";
import { useRows } from "../ui/arrow_keys";
import { BlockHead, CannotSay } from "../ui/block_head";
import { Message } from "../ui/message";
import { FindingBody, OverviewLines, StepCard } from "../ui/overview_card";
import { Flame } from "./flame/flame";
import type { PanelsHost, PartName } from "./host";
import { TableOf } from "./table";
import { canPredict, WhatIf } from "./what_if/what_if";

/** What part of the run the timeline shows or has selected. */
export interface Shown {
  /** The number of the step shown alone. */
  step: number | null;
  /** Whether a range of time is selected. */
  isRange: boolean;
  /** Its figures; null without them. */
  inRange: RangeFigures | null;
  /** The events selected there, by id. */
  events: readonly number[];
  /** `keyOf` the selection. */
  selected: string;
}

interface PanelsProps {
  host: PanelsHost;
  /** Sends a message to the timeline. */
  publish: (message: LinkMessage) => void;
  signal: AbortSignal;
  shown: Shown;
}

const STEPS: Record<string, (at: number, count: number) => number> = {
  ArrowLeft: (at, count) => (at + count - 1) % count,
  ArrowRight: (at, count) => (at + 1) % count,
  Home: () => 0,
  End: (_, count) => count - 1,
};

export function Panels({ host, publish, signal, shown }: PanelsProps) {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const [chosen, setChosen] = useState(host.chosen || "");
  // The part of each tab that was shown last.
  const [last, setLast] = useState<Readonly<Record<string, string>>>({});
  const [visited, setVisited] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    host.watch(() => redraw(undefined), signal);
    // What came before this was watched is drawn now: effects run after the first paint.
    redraw(undefined);
  }, []);
  const { parts } = host;
  const front = parts.find(({ title }) => title === chosen) ?? parts[0];
  const tabs = [...new Set(parts.map(({ tab }) => tab))];
  const choose = ({ tab, title }: PartName) => {
    setChosen(title);
    host.chosen = title;
    setLast({ ...last, [front.tab]: front.title, [tab]: title });
    setVisited(new Set([...visited, front.title, title]));
  };
  const chooseTab = (name: string) => {
    const own = parts.filter(({ tab }) => tab === name);
    choose(own.find(({ title }) => title === last[name]) ?? own[0]);
  };
  const move = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const next = step(tabs.indexOf(front.tab), tabs.length);
    chooseTab(tabs[next]);
    (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=tab]")[next].focus();
  };
  return (
    <>
      <div class="tab-bar" role="tablist" aria-label="Analyses" onKeyDown={move}>
        {tabs.map((tab, index) => (
          <button
            key={tab}
            type="button"
            role="tab"
            id={`tab-${index}`}
            aria-controls={`panel-${index}`}
            aria-selected={tab === front.tab}
            tabIndex={tab === front.tab ? 0 : -1}
            onClick={({ currentTarget }) => {
              chooseTab(tab);
              currentTarget.scrollIntoView({ block: "nearest", inline: "nearest" });
            }}
          >
            {tab}
          </button>
        ))}
      </div>
      {tabs.map((tab, index) => {
        const own = parts.filter((part) => part.tab === tab);
        return (
          <div
            key={tab}
            role="tabpanel"
            id={`panel-${index}`}
            aria-labelledby={`tab-${index}`}
            hidden={tab !== front.tab}
            class="tab-panel"
          >
            {own.length > 1 && <Choice parts={own} front={front} choose={choose} />}
            {own.map((part) => (
              <div key={part.title} class="part" hidden={part.title !== front.title}>
                <h2 class="visually-hidden">{part.title}</h2>
                {(visited.has(part.title) || part === front) && (
                  <Tab {...{ host, title: part.title, publish }} {...shown} isShown={part === front} />
                )}
              </div>
            ))}
          </div>
        );
      })}
      <p class="all-steps" role="status">
        {scopeText(shown)}
      </p>
    </>
  );
}

interface ChoiceProps {
  parts: readonly PartName[];
  front: PartName;
  choose: (part: PartName) => void;
}

function Choice({ parts, front, choose }: ChoiceProps) {
  return (
    <div class="segmented" role="group" aria-label={`Parts of ${parts[0].tab}`}>
      {parts.map((part) => (
        <button
          key={part.title}
          type="button"
          aria-pressed={part.title === front.title}
          onClick={() => choose(part)}
        >
          {part.title}
        </button>
      ))}
    </div>
  );
}

/** The part of the run that the tabs cover, if the timeline shows less. */
function scopeText({ step, isRange, inRange }: Shown): string {
  const own = inRange?.events ? ", transfers and flame graphs" : "";
  const covers = inRange ? `Tables by op and node${own} cover it; other tables` : "Tables";
  const range = isRange ? "A range is selected. " : "";
  if (step === null) return range && `${range}${covers} and charts cover the whole trace.`;
  const what = step === NO_STEP ? "Events outside steps are" : `Step ${step} is`;
  if (range && inRange) return `${range}${covers} and charts cover more.`;
  return `${what} shown. Tables with a Step column and the flame graph follow; other tables and charts cover all steps.`;
}

interface TabProps extends Omit<Shown, "isRange"> {
  host: PanelsHost;
  title: string;
  isShown: boolean;
  publish: (message: LinkMessage) => void;
}

function Tab({ title, ...props }: TabProps) {
  const { host } = props;
  const [contents, error] = contentsOf(host, title);
  if (error) return <Message title={`${title} cannot be computed`} text={error} />;
  if (!contents) {
    const { computing } = host;
    const others = computing ? `Waiting: ${computing} is computed first …` : "Waiting for the kernel …";
    const state = computing === title ? `Computing: ${title} …` : others;
    return <Message title={state} progress={{ done: 0, total: 0 }} />;
  }
  const lines = contents.blocks.flatMap((block) => (block.kind === "overview" ? block.lines : []));
  return (
    <div class="blocks">
      {contents.blocks.map((block, at) => (
        <OneBlock key={at} {...props} {...{ block, lines }} />
      ))}
    </div>
  );
}

function contentsOf(host: PanelsHost, title: string): [Part | null, string] {
  try {
    return [host.part(title), ""];
  } catch (error) {
    return [null, error instanceof Error ? error.message : String(error)];
  }
}

interface BlockProps extends Omit<TabProps, "title"> {
  block: Block;
  lines: readonly OverviewLine[];
}

function OneBlock({ host, block, lines, isShown, step, inRange, events, selected, publish }: BlockProps) {
  if (block.kind === "flame")
    return <Flame {...{ block, step, publish }} inRange={isShown ? inRange : null} selected={events} />;
  if (block.kind === "chart") return <Chart host={host} block={block} isShown={isShown} />;
  if (block.kind === "table")
    return <TableOf {...{ block, step, selected, publish }} inRange={isShown ? inRange : null} />;
  if (block.kind === "what_if") {
    // An exported page cannot predict: the table after it has the stored predictions.
    if (OWNS_PAGE || !canPredict(host)) return null;
    return <WhatIf block={block} host={host} />;
  }
  if (block.kind === "stages") return <Stages {...{ block, publish }} />;
  if (block.kind === "overview")
    return (
      <section class="block overview-block">
        <StepCard card={block} />
      </section>
    );
  return <Findings {...{ block, lines, publish }} />;
}

/** Deeper stages are no further in. */
const MOST_INDENTS = 16;

interface StagesProps {
  block: StagesBlock;
  publish: (message: LinkMessage) => void;
}

function Stages({ block, publish }: StagesProps) {
  const { title, definition, cannot_say, stages } = block;
  const { around, button } = useRows([...stages.keys()]);
  const longest = Math.max(...stages.map(({ self_ns }) => self_ns), 1);
  const indents = ({ depth }: Stage) => Math.min(depth, MOST_INDENTS);
  const most = Math.max(...stages.map(indents), 0);
  const show = ({ zoom }: Stage) => zoom && publish({ kind: "select", ...zoom });
  return (
    <section class="block stages">
      <BlockHead title={title} definition={definition} />
      {cannot_say ? (
        <CannotSay reason={cannot_say} />
      ) : (
        <ol aria-label={title} {...around}>
          {stages.map((stage, at) => (
            <li
              key={at}
              data-below={stage.consumer === null ? undefined : ""}
              style={{
                "--in": indents(stage),
                "--out": most - indents(stage),
                "--up": stage.consumer === null ? 0 : at - stage.consumer,
              }}
            >
              <button
                {...button(at)}
                data-awaits={stage.colour === "idle" || undefined}
                data-bottleneck={stage.is_bottleneck || undefined}
                onClick={() => show(stage)}
              >
                <i
                  aria-hidden="true"
                  style={{ width: `${(100 * stage.self_ns) / longest}%`, background: colourOf(stage) }}
                />
                <b>{stage.label}</b> <span>{formatDuration(stage.self_ns)}</span>{" "}
                <small>{figuresOf(stage)}</small>
                {stage.is_bottleneck && <em>bottleneck</em>}
              </button>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function colourOf({ colour }: Stage): string {
  return `light-dark(${activityColour(colour, "light")}, ${activityColour(colour, "dark")})`;
}

function figuresOf({ calls, mean_ns, empty }: Stage): string {
  const each = `${formatCount(calls)} × ${formatDuration(mean_ns)}`;
  return empty === null ? each : `${each}, empty at ${formatCount(empty)} of ${formatCount(calls)}`;
}

interface FindingsProps {
  block: FindingsBlock;
  /** Figures of the overview. */
  lines: readonly OverviewLine[];
  publish: (message: LinkMessage) => void;
}

export function Findings({ block, lines, publish }: FindingsProps) {
  const isEmpty = block.items.length === 0;
  const others = block.items.slice(1);
  const list = (items: readonly Finding[]) => (
    <ol>
      {items.map((finding) => (
        <Item key={finding.title} finding={finding} publish={publish} />
      ))}
    </ol>
  );
  return (
    <section class="block findings">
      {block.cannot_say ? <CannotSay reason={block.cannot_say} /> : isEmpty && <h3>{block.nothing}</h3>}
      {list(block.items.slice(0, 1))}
      <details class="measured" open={isEmpty}>
        <summary>{others.length > 0 ? "More findings and figures" : "More figures"}</summary>
        {list(others)}
        <OverviewLines lines={lines} />
        {block.measured.length > 0 && <h3>How this was measured</h3>}
        {block.items.map(({ title, how }) => how && <p key={title}>{unbroken(`${title}: ${how}`)}</p>)}
        <ul class="nothing">
          {block.measured.map((text) => (
            <li key={text}>{unbroken(text)}</li>
          ))}
        </ul>
      </details>
    </section>
  );
}

interface ItemProps {
  finding: Finding;
  publish: (message: LinkMessage) => void;
}

function Item({ finding, publish }: ItemProps) {
  const { level, title, share, of } = finding;
  return (
    <li data-level={level}>
      <span class="share">
        {share !== null && (
          <>
            <b title={`of ${of}`}>{formatPercent(share)}</b>
            <span class="visually-hidden">{` of ${of}`}</span>
          </>
        )}
        <span class="level">{level}</span>
      </span>
      <div>
        <h3>{title}</h3>
        <FindingBody finding={finding} onShow={(zoom) => publish({ kind: "select", lanes: null, ...zoom })} />
      </div>
    </li>
  );
}
