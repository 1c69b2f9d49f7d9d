/**
 * Above the lanes when there are several steps: how long each took and how long a device was busy in it, slow steps
 * highlighted; a click shows one.
 */

import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { formatCount, formatDuration, formatRatio } from "../../model/format/units";
import {
  busyLabel,
  countSteps,
  LINEAR_RATIO,
  SLOW_RATIO,
  type StepBar,
  type StepBars,
  stepBars,
  stepLength,
  stepName,
} from "../../model/lanes/step_bars";
import { NO_STEP } from "../../model/types";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { isShortcut } from "../../ui/own_keys";

const MAX_BARS = 400;
/** Bars narrower than this (CSS px, with the gap) are hard to distinguish. */
const MIN_BAR_PX = 3;
const PADDING_PX = 12;
/** Steps of less than this many medians are alike: none of them is called the slowest. */
const ALIKE = 1.1;

export function StepStrip({ store }: { store: Store }) {
  useTopics(store, ["layout", "panel"]);
  const [hovered, setHovered] = useState<StepBar | null>(null);
  const { steps, lanes } = store.run;
  const [width, measured] = useWidth();
  const mostBars = width > 0 ? Math.min(MAX_BARS, Math.floor(width / MIN_BAR_PX)) : MAX_BARS;
  const figures = useMemo(
    () => (countSteps(steps) < 2 ? null : stepBars(steps, mostBars)),
    [steps, mostBars],
  );
  if (figures === null) return null;
  const busyName = figures.busyRatios.some(Boolean) ? busyLabel(lanes) : null;
  const show = (index: number) => store.setStep(Math.min(Math.max(index, 0), steps.length - 1));
  return (
    <div class="steps">
      <Scope store={store} />
      <StepSlider {...{ store, figures, busyName, show, measured }} onHover={setHovered} />
      <DescribedStep {...{ store, figures, busyName, show, hovered }} />
    </div>
  );
}

/** Leads back to all steps as recorded. */
function Scope({ store }: { store: Store }) {
  return (
    <div class="corner">
      Steps
      {(store.step !== null || store.aligned) && (
        <button type="button" title="All steps on one time axis" onClick={() => store.setStep(null)}>
          all {formatCount(countSteps(store.run.steps))}
        </button>
      )}
    </div>
  );
}

interface DescribedStepProps {
  store: Store;
  figures: StepBars;
  busyName: string | null;
  hovered: StepBar | null;
  show: (index: number) => void;
}

/**
 * Name and figures of one step, which a click shows: the step under the pointer, else the one shown, else the slowest
 * unless steps are alike. Only the last is called the slowest: a hovered or shown step goes by its own name, even if it is the slowest.
 */
function DescribedStep({ store, figures, busyName, hovered, show }: DescribedStepProps) {
  const isChosen = hovered !== null || store.step !== null;
  const index = hovered?.described ?? store.step ?? figures.slowest;
  const step = store.run.steps[index];
  const facts = [formatDuration(stepLength(store.run, step)) + ratioText(figures.ratios[index])];
  if (busyName !== null && step.device !== undefined)
    facts.push(`${busyName} ${formatDuration(step.device)}${ratioText(figures.busyRatios[index])}`);
  const parts = isChosen
    ? [stepName(step), ...facts.map((fact) => ` · ${fact}`)]
    : figures.ratios[index] >= ALIKE
      ? [
          `Slowest ${figures.isFirstApart ? "later " : ""}step: ${step.step}`,
          ratioText(figures.ratios[index]),
        ]
      : [];
  return (
    <button
      type="button"
      class="step-summary"
      title={[...facts, "Show this step"].join("\n")}
      onClick={() => show(index)}
    >
      {parts.map((part) => (
        <span key={part}>{part}</span>
      ))}
    </button>
  );
}

/** The ratio of a time to the median in words; empty without a median. */
function ratioText(ratio: number): string {
  return ratio > 0 ? `, ${formatRatio(ratio)} × median` : "";
}

/** The width of an element, kept up to date; 0 before it is known. */
function useWidth(): [number, (element: HTMLElement | null) => void] {
  const [width, setWidth] = useState(0);
  const observer = useRef<ResizeObserver | null>(null);
  const measured = useCallback((element: HTMLElement | null) => {
    observer.current?.disconnect();
    if (element === null) return;
    const measure = () => setWidth(element.clientWidth - PADDING_PX);
    measure();
    observer.current = new ResizeObserver(measure);
    observer.current.observe(element);
  }, []);
  return [width, measured];
}

/** The row's height without its border and the room above bars; see steps.css. */
const BAR_HEIGHT_PX = 23;
/** Highlighted parts are at least this high (CSS px): in a step that mostly waits, even twice the median is a
 * hair. */
const MIN_HIGHLIGHT_PX = 8;

interface StepSliderProps {
  store: Store;
  figures: StepBars;
  /** Label of the devices' busy time, if any is known: "GPU busy". */
  busyName: string | null;
  show: (index: number) => void;
  onHover: (bar: StepBar | null) => void;
  /** Gets the element whose width decides how many bars there are. */
  measured: (element: HTMLElement | null) => void;
}

function StepSlider({ store, figures, busyName, show, onHover, measured }: StepSliderProps) {
  const { bars } = figures;
  const { steps } = store.run;
  const shown = store.step ?? -1;
  return (
    <div
      class="step-bars"
      ref={measured}
      title={legend(busyName)}
      role="slider"
      tabIndex={0}
      aria-label="Step shown"
      style={{ "--bars": bars.length }}
      aria-valuemin={0}
      aria-valuemax={steps.length - 1}
      aria-valuenow={Math.max(shown, 0)}
      aria-valuetext={valueText(store, figures, busyName)}
      onClick={(event) => {
        const bar = barAt(event, bars);
        if (bar) show(bar.described);
      }}
      onPointerMove={(event) => onHover(barAt(event, bars))}
      onPointerLeave={() => onHover(null)}
      onKeyDown={(event) => {
        const step = stepOfKey(event.key, shown, steps.length - 1);
        if (step === null || isShortcut(event)) return;
        show(step);
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      {bars.map((bar, number) => (
        <Bar key={bar.first} {...{ bar, number }} isShown={shown >= bar.first && shown <= bar.last} />
      ))}
    </div>
  );
}

/** The bar that a pointer event is about; null between bars. */
function barAt(event: Event, bars: readonly StepBar[]): StepBar | null {
  const element = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-bar]") : null;
  return element ? (bars[Number(element.dataset.bar)] ?? null) : null;
}

/**
 * The step that a key leads to (its index), or null for keys of others. A bar may stand for several steps, but the
 * arrows move by one step, so that each can be reached. Where no step is shown, `shown` is -1: the right arrow leads to
 * the first. The index may lie outside of the steps; the caller limits it.
 */
function stepOfKey(key: string, shown: number, last: number): number | null {
  if (key === "ArrowLeft") return shown - 1;
  if (key === "ArrowRight") return shown + 1;
  if (key === "Home") return 0;
  return key === "End" ? last : null;
}

interface BarProps {
  bar: StepBar;
  number: number;
  isShown: boolean;
}

function Bar({ bar, number, isShown }: BarProps) {
  const mark = (isMarked: boolean) => (isMarked ? "" : undefined);
  const least = bar.isBusy ? MIN_HIGHLIGHT_PX : 1;
  return (
    <i data-bar={number} data-slow={mark(bar.isSlow)} data-busy={mark(bar.isBusy)} data-shown={mark(isShown)}>
      <b style={{ height: `${Math.max(bar.height * BAR_HEIGHT_PX, 1)}px` }}>
        {bar.busy > 0 && <u style={{ height: `${Math.max(bar.busy * BAR_HEIGHT_PX, least)}px` }} />}
      </b>
    </i>
  );
}

/** Legend of a bar's marks. */
function legend(busyName: string | null): string {
  const height = `Height: duration, logarithmic above the median if any is over ${LINEAR_RATIO} × that; orange: ${SLOW_RATIO} × or more`;
  if (busyName === null) return height;
  return `${height}\nBottom part: ${busyName} (kernels, copies, memsets, collectives); violet: ${SLOW_RATIO} × its median or more`;
}

/** The screen reader's text for the step shown. */
function valueText(store: Store, figures: StepBars, busyName: string | null): string {
  if (store.aligned) return "all steps, aligned";
  if (store.step === null) return "all steps";
  const step = store.run.steps[store.step];
  const name = step.step === NO_STEP ? "outside steps" : `step ${step.step}`;
  const duration = `${name}, ${timeText(stepLength(store.run, step), figures.ratios[store.step])}`;
  const { device } = step;
  const isKnown = busyName !== null && device !== undefined;
  const busy = isKnown ? `, ${busyName} ${timeText(device, figures.busyRatios[store.step])}` : "";
  return duration + busy;
}

function timeText(ns: number, ratio: number): string {
  return formatDuration(ns) + (ratio > 0 ? `, ${formatRatio(ratio)} times the median` : "");
}
