/**
 * Above the lanes when there are several steps: how long each took and how long a device computed in it, what is slow
 * lit; a click shows one.
 */

import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { formatCount, formatDuration } from "../../model/format/units";
import {
  countSteps,
  deviceNoun,
  MAX_BAR_RATIO,
  SLOW_RATIO,
  type StepBar,
  type StepBars,
  stepBars,
  stepName,
} from "../../model/lanes/step_bars";
import type { Step } from "../../model/types";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";

const MAX_BARS = 400;
/** Narrower than this (CSS px, with the gap beside it) no bar can be told from its neighbours. */
const MIN_BAR_PX = 3;
const PADDING_PX = 12;
const BAR_HEIGHT_PX = 26;
/** What is lit is at least so high (CSS px): of a step that mostly waits, even twice the work is a hair. */
const MIN_HIGHLIGHT_PX = 8;

export function StepStrip({ store }: { store: Store }) {
  useTopics(store, ["layout", "panel"]);
  const [hovered, setHovered] = useState<StepBar | null>(null);
  const { steps, lanes } = store.run;
  const [room, track] = useWidth();
  const most = room > 0 ? Math.min(MAX_BARS, Math.floor(room / MIN_BAR_PX)) : MAX_BARS;
  const figures = useMemo(() => (countSteps(steps) < 2 ? null : stepBars(steps, most)), [steps, most]);
  if (figures === null) return null;
  const { bars, slowest } = figures;
  const noun = figures.workMedian > 0 ? deviceNoun(lanes) : null;
  const described = hovered?.described ?? store.step ?? slowest;
  const { start, end, device = 0 } = steps[described];
  const barAt = (event: Event) => {
    const element = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-bar]") : null;
    return element ? (bars[Number(element.dataset.bar)] ?? null) : null;
  };
  const show = (index: number) => store.setStep(Math.min(Math.max(index, 0), steps.length - 1));
  const index = store.step ?? -1;
  const moves: Record<string, number> = {
    ArrowLeft: index - 1,
    ArrowRight: index + 1,
    Home: 0,
    End: steps.length - 1,
  };
  return (
    <div class="steps">
      <Scope store={store} />
      <div
        class="step-bars"
        ref={track}
        title={legend(noun)}
        role="slider"
        tabIndex={0}
        aria-label="Step shown"
        aria-valuemin={0}
        aria-valuemax={steps.length - 1}
        aria-valuenow={Math.max(index, 0)}
        aria-valuetext={valueText(store, figures, noun)}
        onClick={(event) => {
          const bar = barAt(event);
          if (bar) show(bar.described);
        }}
        onPointerMove={(event) => setHovered(barAt(event))}
        onPointerLeave={() => setHovered(null)}
        onKeyDown={(event) => {
          if (!(event.key in moves)) return;
          show(moves[event.key]);
          event.preventDefault();
          event.stopPropagation();
        }}
      >
        {bars.map((bar, number) => (
          <Bar
            key={bar.first}
            {...{ bar, number }}
            isShown={index >= bar.first && index <= bar.last}
            title={bar.isCut ? cutText(steps[bar.described], figures.median) : undefined}
          />
        ))}
      </div>
      <button
        type="button"
        class="step-told"
        data-long={noun !== null ? "" : undefined}
        title="Show this step"
        onClick={() => show(described)}
      >
        <strong>
          {hovered === null && store.step === null
            ? `Slowest: step ${steps[described].step}`
            : stepName(steps[described])}
        </strong>{" "}
        {formatDuration(end - start)}
        <Ratio before=" · " ns={end - start} median={figures.median} />
        {noun !== null && ` · ${noun} ${formatDuration(device)}`}
        {noun !== null && <Ratio before=", " ns={device} median={figures.workMedian} />}
      </button>
    </div>
  );
}

/** Which steps are shown: all as they came, or all aligned. */
function Scope({ store }: { store: Store }) {
  const count = formatCount(countSteps(store.run.steps));
  return (
    <div class="corner">
      Steps
      <span>
        <button
          type="button"
          aria-pressed={store.step === null && !store.aligned}
          title="All steps on one axis, as they came"
          onClick={() => store.setStep(null)}
        >
          all {count}
        </button>
        {!store.run.merged && (
          <button
            type="button"
            aria-pressed={store.aligned !== null}
            title="All steps under each other, each from its own start, without what is outside of steps"
            onClick={() => store.setStep(null, true)}
          >
            align
          </button>
        )}
      </span>
    </div>
  );
}

interface BarProps {
  bar: StepBar;
  number: number;
  isShown: boolean;
  title: string | undefined;
}

function Bar({ bar, number, isShown, title }: BarProps) {
  const mark = (isMarked: boolean) => (isMarked ? "" : undefined);
  const least = bar.isBusy ? MIN_HIGHLIGHT_PX : 1;
  return (
    <i
      data-bar={number}
      data-slow={mark(bar.isSlow)}
      data-busy={mark(bar.isBusy)}
      data-cut={mark(bar.isCut)}
      data-shown={mark(isShown)}
      title={title}
    >
      <b style={{ height: `${Math.max(bar.height * BAR_HEIGHT_PX, 1)}px` }}>
        {bar.work > 0 && <u style={{ height: `${Math.max(bar.work * BAR_HEIGHT_PX, least)}px` }} />}
      </b>
    </i>
  );
}

/** What the marks of a bar mean. */
function legend(noun: string | null): string {
  const height = `Height: how long a step took; orange: ${SLOW_RATIO} × the median or more; cut: over ${MAX_BAR_RATIO} × the median`;
  if (noun === null) return height;
  return `${height}\nBottom part: how long the ${noun} computed in it; violet: ${SLOW_RATIO} × the median of that or more`;
}

/** What is said of a bar that would be higher. */
function cutText(step: Step, median: number): string {
  const times = ((step.end - step.start) / median).toFixed(1);
  return `${stepName(step)}: ${times} × the median; its bar is cut at ${MAX_BAR_RATIO} × the median`;
}

function valueText(store: Store, figures: StepBars, noun: string | null): string {
  if (store.aligned) return "all steps, aligned";
  if (store.step === null) return "all steps";
  const step = store.run.steps[store.step];
  const withRatio = (ns: number, median: number) =>
    `${formatDuration(ns)}${median > 0 ? `, ${(ns / median).toFixed(1)} times the median` : ""}`;
  const took = `step ${step.step}, ${withRatio(step.end - step.start, figures.median)}`;
  const isCut = figures.bars.some((bar) => bar.isCut && bar.described === store.step);
  const bar = isCut ? `, bar cut at ${MAX_BAR_RATIO} times the median` : "";
  return noun === null
    ? took + bar
    : `${took}, ${noun} ${withRatio(step.device ?? 0, figures.workMedian)}${bar}`;
}

/** How much of the median a time is; nothing without one. */
function Ratio({ before, ns, median }: { before: string; ns: number; median: number }) {
  if (median <= 0) return null;
  return (
    <>
      {before}
      {(ns / median).toFixed(1)} ×<span> median</span>
    </>
  );
}

/** The width of an element, kept up to date; 0 before it is known. */
function useWidth(): [number, (element: HTMLElement | null) => void] {
  const [width, setWidth] = useState(0);
  const observer = useRef<ResizeObserver | null>(null);
  const track = useCallback((element: HTMLElement | null) => {
    observer.current?.disconnect();
    if (element === null) return;
    const measure = () => setWidth(element.clientWidth - PADDING_PX);
    measure();
    observer.current = new ResizeObserver(measure);
    observer.current.observe(element);
  }, []);
  return [width, track];
}
