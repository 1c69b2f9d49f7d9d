/** The bars of the steps: a slider whose value is the step shown, for the pointer and for the keyboard. */

import { formatDuration, formatRatio } from "../../model/format/units";
import {
  LINEAR_RATIO,
  SLOW_RATIO,
  type StepBar,
  type StepBars,
  stepLength,
} from "../../model/lanes/step_bars";
import { NO_STEP } from "../../model/types";
import type { Store } from "../../state/store";
import { isShortcut } from "../../ui/own_keys";

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

export function StepSlider({ store, figures, busyName, show, onHover, measured }: StepSliderProps) {
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
