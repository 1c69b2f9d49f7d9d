/** The line at the top: title, step, search, and commands. */

import type { ComponentChildren } from "preact";
import type { Options } from "../../host/host";
import type { Actions } from "../../input/actions";
import { isolated, withoutControls } from "../../model/format/bidi";
import { formatCount, formatDuration, formatNumber } from "../../model/format/units";
import { countSteps, eventsShown, stepName } from "../../model/lanes/step_bars";
import type { Step } from "../../model/types";
import { whyNoCode } from "../../state/code";
import { isCritical, toggleCritical, whyNoPath } from "../../state/critical_path";
import type { Store } from "../../state/store";
import { whyNoTensors } from "../../state/tensors";
import { useTopics } from "../../state/use_store";
import { DetailsButton } from "../../ui/details_button";
import { ExportMenu } from "./export_menu";
import { SearchBox } from "./search_box";
import { ViewsMenu } from "./views_menu";

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
      <Controls
        {...{ store, actions, stores: [store] }}
        menu={
          <>
            <ViewsMenu store={store} actions={actions} />
            <ExportMenu store={store} root={root} />
          </>
        }
      />
    </div>
  );
}

/** The trace shown, its step and its duration. */
export function ShownTrace({ store }: { store: Store }) {
  useTopics(store, ["layout", "details"]);
  const { drawn } = store;
  const tasks = new Set(store.run.lanes.map((lane) => lane.task)).size;
  const facts = [
    formatDuration(store.whole.end - store.whole.start),
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
  /** All that are coloured and grouped alike. */
  stores: readonly Store[];
  /** The menus of views and exports. */
  menu: ComponentChildren;
}

export function Controls({ store, actions, stores, menu }: ControlsProps) {
  useTopics(store, ["layout", "panel", "paint", "details"]);
  return (
    <div class="controls">
      <Choice
        stores={stores}
        option="color_by"
        title="Colour"
        values={{ kind: "Colour: kind", op: "Colour: op type", device: "Colour: device" }}
      />
      <Choice
        stores={stores}
        option="group_by"
        title="Group lanes"
        values={{ device: "By device", kind: "By kind", none: "Ungrouped" }}
      />
      <button
        type="button"
        aria-pressed={isCritical(store)}
        disabled={!!whyNoPath(store)}
        title={whyNoPath(store) || "Critical path: what the step waited for (C)"}
        onClick={() => toggleCritical(store)}
      >
        Critical path
      </button>
      <button
        type="button"
        aria-pressed={store.lanes.tensors}
        disabled={!!whyNoTensors(store)}
        title={whyNoTensors(store) || "Tensors in memory: a bar from allocation to free (T)"}
        onClick={() => {
          const shown = !store.lanes.tensors;
          for (const each of stores) each.lanes.showTensors(shown);
        }}
      >
        Tensors
      </button>
      <CodeButton stores={stores} />
      <button type="button" title="Show everything (0)" onClick={() => actions.whole()}>
        Fit
      </button>
      <button
        type="button"
        aria-label="Full screen"
        title="Full screen (Shift F)"
        onClick={() => actions.fullScreen()}
      >
        <svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">
          <path d="M1 4V1h3M8 1h3v3M11 8v3H8M4 11H1V8" fill="none" stroke="currentColor" stroke-width="1.4" />
        </svg>
      </button>
      {menu}
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

function CodeButton({ stores }: Pick<ControlsProps, "stores">) {
  const isOpen = stores.some(({ codeOpen }) => codeOpen);
  const known = stores.filter((store) => !whyNoCode(store));
  return (
    <button
      type="button"
      aria-pressed={isOpen}
      disabled={known.length === 0}
      title={known.length ? "Code: the time of each line (L)" : whyNoCode(stores[0])}
      onClick={() => {
        for (const store of known) store.setPanel({ codeOpen: !isOpen, graphOpen: false, codePlace: null });
      }}
    >
      Code
    </button>
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
          {choiceText(step)}
        </option>
      ))}
    </select>
  );
}

/** Its label comes last: where there is no room it is what is cut. */
function choiceText(step: Step): string {
  const label = step.label && isolated(step.label);
  return [stepName({ ...step, label: "" }), formatDuration(step.end - step.start), label]
    .filter(Boolean)
    .join(" · ");
}

function Choice<K extends "color_by" | "group_by">(props: {
  stores: readonly Store[];
  option: K;
  title: string;
  values: Record<Options[K], string>;
}) {
  const { stores, option, title, values } = props;
  return (
    <select
      aria-label={title}
      title={title}
      value={stores[0].host.get(option)}
      onChange={(event) => {
        for (const store of stores) store.setOption(option, event.currentTarget.value as Options[K]);
      }}
    >
      {(Object.entries(values) as [string, string][]).map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
}
