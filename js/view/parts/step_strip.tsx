/**
 * Above the lanes when there are several steps: how long each took and how long a device was busy in it, slow steps
 * highlighted; a click shows one.
 */

import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { formatCount, formatDuration, formatRatio } from "../../model/format/units";
import {
  busyLabel,
  countSteps,
  SLOW_RATIO,
  type StepBar,
  type StepBars,
  stepBars,
  stepLength,
  stepName,
} from "../../model/lanes/step_bars";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { StepSlider } from "./step_slider";

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
          `Slowest: step ${step.step}`,
          figures.ratios[index] >= SLOW_RATIO && ratioText(figures.ratios[index]),
          figures.isFirstApart && ", after the first",
        ].filter(Boolean)
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
