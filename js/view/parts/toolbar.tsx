/** The line at the top: title, step, search, and commands. */

import type { ComponentChildren } from "preact";
import type { Actions } from "../../input/actions";
import { isolated, withoutControls } from "../../model/format/bidi";
import { formatCount, formatDuration, formatNumber } from "../../model/format/units";
import { countSteps, eventsShown, lengthShown, stepLength, stepName } from "../../model/lanes/step_bars";
import type { Drawn, Step } from "../../model/types";
import { isCritical, toggleCritical, whyNoPath } from "../../state/critical_path";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { DetailsButton } from "../../ui/details_button";
import { ExportMenu } from "./export_menu";
import { SearchBox } from "./search_box";
import { ViewMenu } from "./view_menu";

interface ToolbarProps {
  store: Store;
  actions: Actions;
  root: HTMLElement;
}

export function Toolbar({ store, actions, root }: ToolbarProps) {
  return (
    <div class="toolbar">
      <ShownTrace store={store} />
      <span class="space" />
      <SearchBox store={store} actions={actions} />
      <Controls {...{ store, actions, stores: [store] }} exports={<ExportMenu store={store} root={root} />} />
    </div>
  );
}

/** The trace shown, its step and its duration. */
export function ShownTrace({ store }: { store: Store }) {
  useTopics(store, ["layout", "details"]);
  const { drawn } = store;
  const tasks = new Set(store.run.lanes.map((lane) => lane.task)).size;
  const facts = [
    formatDuration(lengthShown(store)),
    formatNumber(eventsShown(store), "event"),
    ...(tasks > 1 ? [`${tasks} tasks`] : []),
  ];
  return (
    <>
      {drawn.title && (
        <span class="title" title={drawn.title}>
          {withoutControls(drawn.title)}
        </span>
      )}
      {drawn.predicted && (
        <span class="predicted" title={drawn.predicted}>
          Predicted
        </span>
      )}
      {store.run.steps.length > 1 && <StepSelect store={store} />}
      <span class="summary" title={facts.join(" · ")}>
        {facts.map((fact, at) => (
          <span key={at}>{at > 0 ? ` · ${fact}` : fact}</span>
        ))}
      </span>
    </>
  );
}

interface ControlsProps {
  store: Store;
  actions: Actions;
  /** All that are drawn alike. */
  stores: readonly Store[];
  exports: ComponentChildren;
}

export function Controls({ store, actions, stores, exports }: ControlsProps) {
  useTopics(store, ["layout", "panel", "paint", "details"]);
  const noPath = whyNoPath(store);
  return (
    <div class="controls">
      {(!noPath || !store.details) && (
        <button
          type="button"
          aria-pressed={isCritical(store)}
          disabled={!!noPath}
          title={noPath || "Critical path: what the step waited for (C)"}
          onClick={() => toggleCritical(store)}
        >
          Critical path
        </button>
      )}
      <ViewMenu {...{ store, actions, stores }} />
      {exports}
      <DetailsButton
        isOpen={store.panelOpen}
        toggle={() => store.setPanel({ panelOpen: !store.panelOpen })}
      />
      <button
        type="button"
        aria-label="Help: all keys and gestures"
        title="All keys and gestures (?)"
        onClick={() => store.setPanel({ helpOpen: true })}
      >
        ?
      </button>
    </div>
  );
}

function StepSelect({ store }: { store: Store }) {
  const { steps } = store.run;
  const count = countSteps(steps);
  const value = store.step === null ? "all" : String(store.step);
  return (
    <select
      aria-label="Step"
      value={value}
      onChange={(event) =>
        store.setStep(event.currentTarget.value === "all" ? null : Number(event.currentTarget.value))
      }
    >
      <option value="all">{count > 1 ? `All ${formatCount(count)} steps` : "Whole run"}</option>
      {steps.map((step, index) => (
        <option key={step.step} value={String(index)}>
          {choiceText(store.run, step)}
        </option>
      ))}
    </select>
  );
}

/** Its label comes last, so that it is cut first. */
function choiceText(run: Drawn, step: Step): string {
  const label = step.label && isolated(step.label);
  return [stepName({ ...step, label: "" }), formatDuration(stepLength(run, step)), label]
    .filter(Boolean)
    .join(" · ");
}
