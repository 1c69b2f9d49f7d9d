/** Tabs, each of an overview, charts, tables or findings, that come as they are computed. */

import { useEffect, useReducer, useState } from "preact/hooks";
import { Chart } from "../charts/chart";
import type { LinkMessage } from "../host/channel";
import { Message } from "../ui/message";
import { OverviewLines, StepParts } from "../ui/overview_card";
import type { Block, TabContents } from "./blocks";
import { Findings } from "./findings";
import type { PanelsHost } from "./host";
import { TableOf } from "./table";

interface PanelsProps {
  host: PanelsHost;
  /** Says something to the timeline. */
  publish: (told: LinkMessage) => void;
  signal: AbortSignal;
  /** Whether the timeline shows one step alone. */
  isOneStep: boolean;
}

const STEPS: Record<string, (at: number, count: number) => number> = {
  ArrowLeft: (at, count) => (at + count - 1) % count,
  ArrowRight: (at, count) => (at + 1) % count,
  Home: () => 0,
  End: (_, count) => count - 1,
};

export function Panels({ host, publish, signal, isOneStep }: PanelsProps) {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const [shown, setShown] = useState(0);
  const [visited, setVisited] = useState<ReadonlySet<number>>(new Set([0]));
  useEffect(() => {
    host.watch(() => redraw(undefined), signal);
    // What came before this was watched is drawn now: effects run after the first paint.
    redraw(undefined);
  }, []);
  const choose = (index: number) => {
    setShown(index);
    setVisited(new Set([...visited, index]));
  };
  const move = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const next = step(shown, host.titles.length);
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
            aria-selected={index === shown}
            tabIndex={index === shown ? 0 : -1}
            onClick={() => choose(index)}
          >
            {title}
          </button>
        ))}
      </div>
      <p class="all-steps" role="status">
        {isOneStep && "The timeline shows one step. Tables and charts show all steps."}
      </p>
      {host.titles.map((title, index) => (
        <div
          key={title}
          role="tabpanel"
          id={`panel-${index}`}
          aria-labelledby={`tab-${index}`}
          hidden={index !== shown}
          class="tab-panel"
        >
          {visited.has(index) && <Tab {...{ host, title, index, publish }} isShown={index === shown} />}
        </div>
      ))}
    </>
  );
}

interface TabProps {
  host: PanelsHost;
  title: string;
  index: number;
  isShown: boolean;
  publish: (told: LinkMessage) => void;
}

function Tab({ host, title, index, isShown, publish }: TabProps) {
  const [contents, error] = contentsOf(host, index);
  if (error) return <Message title={`${title} cannot be computed`} text={error} />;
  if (!contents) return <Message title={`Computing: ${title} …`} progress={{ done: 0, total: 0 }} />;
  return (
    <div class="blocks">
      {contents.blocks.map((block, at) => (
        <OneBlock key={at} {...{ host, block, isShown, publish }} />
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

function OneBlock({ host, block, isShown, publish }: BlockProps) {
  if (block.kind === "chart") return <Chart host={host} block={block} isShown={isShown} />;
  if (block.kind === "table") return <TableOf block={block} publish={publish} />;
  if (block.kind === "nothing")
    return (
      <section class="block">
        <p class="cannot-say">{block.text}</p>
      </section>
    );
  if (block.kind === "overview")
    return (
      <section class="block overview-block">
        <StepParts card={block} />
        <OverviewLines card={block} />
      </section>
    );
  return <Findings block={block} publish={publish} />;
}
