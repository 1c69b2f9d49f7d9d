/** Tabs, each of an overview, charts, tables or findings, that come as they are computed. */

import { useEffect, useReducer, useState } from "preact/hooks";
import { Chart } from "../charts/chart";
import type { LinkMessage } from "../host/channel";
import { NO_STEP } from "../model/types";
import { Message } from "../ui/message";
import { OverviewLines, StepCard } from "../ui/overview_card";
import type { Block, TabContents } from "./blocks";
import { Findings } from "./findings";
import { Flame } from "./flame/flame";
import type { PanelsHost } from "./host";
import { Stages } from "./stages";
import { TableOf } from "./table";
import { canPredict, WhatIf } from "./what_if/what_if";

/** What part of the run the timeline shows or has selected. */
export interface Shown {
  /** The number of the step shown alone. */
  step: number | null;
  /** Whether a range of time is selected. */
  isRange: boolean;
  /** Returns the events in it; null where they are not known. */
  inRange: (() => ArrayLike<number>) | null;
  /** The events selected there, by id. */
  events: readonly number[];
}

interface PanelsProps {
  host: PanelsHost;
  /** Sends a message to the timeline. */
  publish: (told: LinkMessage) => void;
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
  const [chosen, setChosen] = useState(Math.max(host.titles.indexOf(host.chosen ?? ""), 0));
  const [visited, setVisited] = useState<ReadonlySet<number>>(new Set([chosen]));
  useEffect(() => {
    host.watch(() => redraw(undefined), signal);
    // What came before this was watched is drawn now: effects run after the first paint.
    redraw(undefined);
  }, []);
  const choose = (index: number) => {
    setChosen(index);
    host.chosen = host.titles[index];
    setVisited(new Set([...visited, index]));
  };
  const move = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const next = step(chosen, host.titles.length);
    choose(next);
    (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=tab]")[next].focus();
  };
  return (
    <>
      <div class="tab-bar" role="tablist" aria-label="Analyses" onKeyDown={move}>
        {host.titles.map((title, index) => (
          <button
            key={title}
            type="button"
            role="tab"
            id={`tab-${index}`}
            aria-controls={`panel-${index}`}
            aria-selected={index === chosen}
            tabIndex={index === chosen ? 0 : -1}
            onClick={({ currentTarget }) => {
              choose(index);
              currentTarget.scrollIntoView({ block: "nearest", inline: "nearest" });
            }}
          >
            {title}
          </button>
        ))}
      </div>
      <p class="all-steps" role="status">
        {scopeText(shown)}
      </p>
      {host.titles.map((title, index) => (
        <div
          key={title}
          role="tabpanel"
          id={`panel-${index}`}
          aria-labelledby={`tab-${index}`}
          hidden={index !== chosen}
          class="tab-panel"
        >
          <h2 class="visually-hidden">{title}</h2>
          {visited.has(index) && (
            <Tab
              {...{ host, title, index, publish }}
              step={shown.step}
              inRange={shown.inRange}
              events={shown.events}
              isShown={index === chosen}
            />
          )}
        </div>
      ))}
    </>
  );
}

/** The part of the run that the tabs cover, if the timeline shows less. */
function scopeText({ step, isRange, inRange }: Shown): string {
  const others = inRange ? "Flame graphs cover its events where they can; tables and" : "Tables and";
  if (isRange && step === null) return `A range is selected. ${others} charts cover the whole trace.`;
  if (step !== null) {
    const what = step === NO_STEP ? "Events outside steps are" : `Step ${step} is`;
    return `${what} shown. Tables with a Step column and the flame graph follow; other tables and charts cover all steps.`;
  }
  return "";
}

interface TabProps {
  host: PanelsHost;
  title: string;
  index: number;
  isShown: boolean;
  /** The number of the step shown alone. */
  step: number | null;
  inRange: Shown["inRange"];
  /** The events selected in the timeline. */
  events: readonly number[];
  publish: (told: LinkMessage) => void;
}

function Tab({ host, title, index, isShown, step, inRange, events, publish }: TabProps) {
  const [contents, error] = contentsOf(host, index);
  if (error) return <Message title={`${title} cannot be computed`} text={error} />;
  if (!contents) return <Message title={`Computing: ${title} …`} progress={{ done: 0, total: 0 }} />;
  return (
    <div class="blocks">
      {contents.blocks.map((block, at) => (
        <OneBlock key={at} {...{ host, block, isShown, step, inRange, events, publish }} />
      ))}
    </div>
  );
}

function contentsOf(host: PanelsHost, index: number): [TabContents | null, string] {
  try {
    return [host.tab(index), ""];
  } catch (error) {
    return [null, error instanceof Error ? error.message : String(error)];
  }
}

interface BlockProps extends Omit<TabProps, "title" | "index"> {
  block: Block;
}

function OneBlock({ host, block, isShown, step, inRange, events, publish }: BlockProps) {
  if (block.kind === "flame")
    return <Flame {...{ block, step, publish }} inRange={isShown ? inRange : null} selected={events} />;
  if (block.kind === "chart") return <Chart host={host} block={block} isShown={isShown} />;
  if (block.kind === "table") return <TableOf {...{ block, step, publish }} />;
  if (block.kind === "what_if") {
    // Nobody predicts in an exported page: the table after it has what was predicted.
    if (OWNS_PAGE || !canPredict(host)) return null;
    return <WhatIf block={block} host={host} />;
  }
  if (block.kind === "stages") return <Stages {...{ block, publish }} />;
  if (block.kind === "nothing")
    return (
      <section class="block">
        <p class="cannot-say">{block.text}</p>
      </section>
    );
  if (block.kind === "overview")
    return (
      <section class="block overview-block">
        <StepCard card={block} />
        <OverviewLines lines={block.lines} />
      </section>
    );
  return <Findings block={block} publish={publish} />;
}
