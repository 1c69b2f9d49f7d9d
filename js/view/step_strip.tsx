/** Above the lanes when there are several steps: how long each took, the slow ones lit; a click shows one. */

import { useState } from "preact/hooks";
import { type StepBar, stepBars, stepName } from "../model/step_bars";
import { formatCount, formatDuration } from "../model/units";
import type { Store } from "./store";
import { useTopics } from "./use_store";

const MOST_BARS = 400;
const HEIGHT = 26;

export function StepStrip({ store }: { store: Store }) {
  useTopics(store, ["layout", "panel"]);
  const [hovered, setHovered] = useState<StepBar | null>(null);
  const { steps } = store.run;
  if (steps.length < 2) return null;
  const { bars, median, slowest } = stepBars(steps, MOST_BARS);
  const told = hovered?.longest ?? store.step ?? slowest;
  const duration = steps[told].end - steps[told].start;
  const barAt = (event: Event) => {
    const element = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-bar]") : null;
    return element ? (bars[Number(element.dataset.bar)] ?? null) : null;
  };
  const show = (place: number) => store.setStep(Math.min(Math.max(place, 0), steps.length - 1));
  const place = store.step ?? -1;
  const moves: Record<string, number> = {
    ArrowLeft: place - 1,
    ArrowRight: place + 1,
    Home: 0,
    End: steps.length - 1,
  };
  return (
    <div class="steps">
      <div class="corner">
        Steps
        <span>
          <button
            type="button"
            aria-pressed={store.step === null && !store.aligned}
            title="All steps on one axis, as they came"
            onClick={() => store.setStep(null)}
          >
            all {formatCount(steps.filter((step) => step.step >= 0).length)}
          </button>
          {!store.run.merged && (
            <button
              type="button"
              aria-pressed={store.aligned !== null}
              title="All steps under each other, each from its own start"
              onClick={() => store.setStep(null, true)}
            >
              align
            </button>
          )}
        </span>
      </div>
      <div
        class="step-bars"
        role="slider"
        tabIndex={0}
        aria-label="Step shown"
        aria-valuemin={0}
        aria-valuemax={steps.length - 1}
        aria-valuenow={Math.max(place, 0)}
        aria-valuetext={valueText(store, median)}
        data-lm-suppress-shortcuts="true"
        onClick={(event) => {
          const bar = barAt(event);
          if (bar) show(bar.longest);
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
          <i
            key={bar.first}
            data-bar={number}
            data-slow={bar.isSlow ? "" : undefined}
            data-shown={place >= bar.first && place <= bar.last ? "" : undefined}
          >
            <b style={{ height: `${Math.max(bar.height * HEIGHT, 1)}px` }} />
          </i>
        ))}
      </div>
      <button
        type="button"
        class="step-told"
        title="Show this step"
        data-lm-suppress-shortcuts="true"
        onClick={() => show(told)}
      >
        <strong>
          {hovered === null && store.step === null
            ? `Slowest: step ${steps[told].step}`
            : stepName(steps[told])}
        </strong>{" "}
        {formatDuration(duration)}
        {median > 0 && <span> · {(duration / median).toFixed(1)} × median</span>}
      </button>
    </div>
  );
}

function valueText(store: Store, median: number): string {
  if (store.aligned) return "all steps, aligned";
  if (store.step === null) return "all steps";
  return nameStep(store, store.step, median);
}

function nameStep(store: Store, place: number, median: number): string {
  const step = store.run.steps[place];
  const duration = step.end - step.start;
  return `step ${step.step}, ${formatDuration(duration)}, ${(duration / (median || 1)).toFixed(1)} times the median`;
}
