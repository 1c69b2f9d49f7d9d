/** The durations of a row's events: small bars in its cell that select their events. */

import { useState } from "preact/hooks";
import type { LinkMessage } from "../host/channel";
import { isolated } from "../model/format/bidi";
import { formatCount, formatDuration, formatNumber } from "../model/format/units";
import type { HistogramBins } from "../model/wire/schema";
import { isShortcut } from "../ui/own_keys";

/** A bin of one event among thousands is still seen. */
const LEAST_SHARE = 0.15;

interface HistogramProps {
  bins: HistogramBins;
  /** What took these times. */
  name: string;
  /** Whether the Tab key stops here: in one row of a table. */
  isStop: boolean;
  publish: (message: LinkMessage) => void;
}

/** One control, as single bars are too small to be one each: arrow keys choose a bar, Enter and a click select. */
export function Histogram({ bins, name, isStop, publish }: HistogramProps) {
  const { counts, events } = bins;
  const most = Math.max(...counts);
  const filled = [...counts.keys()].filter((at) => counts[at] > 0);
  const [current, setCurrent] = useState(0);
  const select = (index: number) => {
    setCurrent(index);
    publish({ kind: "select", events: events[filled[index]], of: counts[filled[index]] });
  };
  const press = (event: KeyboardEvent) => {
    if (isShortcut(event)) return;
    const last = filled.length - 1;
    if (event.key === "ArrowRight") setCurrent(Math.min(current + 1, last));
    else if (event.key === "ArrowLeft") setCurrent(Math.max(current - 1, 0));
    else if (event.key === "Enter" || event.key === " ") select(current);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <span
      class="histogram"
      role="slider"
      tabIndex={isStop ? 0 : -1}
      aria-label={`Durations of ${isolated(name)}`}
      aria-description="Left and right arrows go from bar to bar, Enter selects its events."
      aria-valuemin={1}
      aria-valuemax={filled.length}
      aria-valuenow={current + 1}
      aria-valuetext={binText(bins, filled[current])}
      onKeyDown={press}
      onClick={(event) => {
        const bar = (event.target as Element).closest<HTMLElement>("[data-bar]")?.dataset.bar;
        const index = filled.indexOf(Number(bar));
        if (index >= 0) select(index);
      }}
    >
      {counts.map((count, at) => (
        <i
          key={at}
          data-bar={at}
          data-current={at === filled[current] || undefined}
          title={count ? binText(bins, at) : undefined}
        >
          {count > 0 && <b style={{ height: `${100 * Math.max(count / most, LEAST_SHARE)}%` }} />}
        </i>
      ))}
    </span>
  );
}

/** "1.2 ms to 1.5 ms: 30 events". */
export function binText({ edges, counts, events }: HistogramBins, at: number): string {
  const [from, to] = [formatDuration(edges[at]), formatDuration(edges[at + 1])];
  const part =
    events[at].length < counts[at] ? `, selects the ${formatCount(events[at].length)} longest` : "";
  return `${from === to ? from : `${from} to ${to}`}: ${formatNumber(counts[at], "event")}${part}`;
}
