/** Tabs, each of charts, tables or findings, that come as they are computed. */

import { useEffect, useReducer, useState } from "preact/hooks";
import { Chart } from "../charts/chart";
import type { Told } from "../host/channel";
import { Message } from "../ui/message";
import type { Block, TabContents } from "./blocks";
import { Findings } from "./findings";
import type { PanelsHost } from "./host";
import { TableOf } from "./table";

interface PanelsProps {
  host: PanelsHost;
  /** Says something to the timeline. */
  tell: (told: Told) => void;
  signal: AbortSignal;
}

const STEPS: Record<string, (at: number, count: number) => number> = {
  ArrowLeft: (at, count) => (at + count - 1) % count,
  ArrowRight: (at, count) => (at + 1) % count,
  Home: () => 0,
  End: (_, count) => count - 1,
};

export function Panels({ host, tell, signal }: PanelsProps) {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const [shown, setShown] = useState(0);
  const [visited, setVisited] = useState<ReadonlySet<number>>(new Set([0]));
  useEffect(() => {
    host.watch(() => redraw(undefined), signal);
    // What came before this was watched is drawn now: effects run after the first paint.
    redraw(undefined);
  }, []);
  const choose = (place: number) => {
    setShown(place);
    setVisited(new Set([...visited, place]));
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
        {host.titles.map((title, place) => (
          <button
            key={title}
            type="button"
            role="tab"
            id={`tab-${place}`}
            aria-controls={`panel-${place}`}
            aria-selected={place === shown}
            tabIndex={place === shown ? 0 : -1}
            onClick={() => choose(place)}
          >
            {title}
          </button>
        ))}
      </div>
      {host.titles.map((title, place) => (
        <div
          key={title}
          role="tabpanel"
          id={`panel-${place}`}
          aria-labelledby={`tab-${place}`}
          hidden={place !== shown}
          class="tab-panel"
        >
          {visited.has(place) && <Tab {...{ host, title, place, tell }} isShown={place === shown} />}
        </div>
      ))}
    </>
  );
}

interface TabProps {
  host: PanelsHost;
  title: string;
  place: number;
  isShown: boolean;
  tell: (told: Told) => void;
}

function Tab({ host, title, place, isShown, tell }: TabProps) {
  const [contents, error] = contentsOf(host, place);
  if (error) return <Message title={`${title} cannot be computed`} text={error} />;
  if (!contents) return <Message title={`Computing: ${title} …`} progress={{ done: 0, total: 0 }} />;
  return (
    <div class="blocks">
      {contents.blocks.map((block, at) => (
        <OneBlock key={at} {...{ host, block, isShown, tell }} />
      ))}
    </div>
  );
}

function contentsOf(host: PanelsHost, place: number): [TabContents | null, string] {
  try {
    return [host.tab(place), ""];
  } catch (error) {
    return [null, error instanceof Error ? error.message : String(error)];
  }
}

interface BlockProps extends Omit<TabProps, "title" | "place"> {
  block: Block;
}

function OneBlock({ host, block, isShown, tell }: BlockProps) {
  if (block.kind === "chart") return <Chart host={host} block={block} isShown={isShown} />;
  if (block.kind === "table") return <TableOf block={block} tell={tell} />;
  return <Findings block={block} tell={tell} />;
}
