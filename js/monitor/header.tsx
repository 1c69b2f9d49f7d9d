/** The line at the top: which session, whether it is recorded, and requests for all of it. */

import { formatCount } from "../model/format/units";
import type { MonitorState } from "../model/wire/schema";
import { DetailsButton } from "../ui/details_button";
import { Popover } from "../ui/popover";
import { nextRefusal, nextRunText, recording, refusal } from "./recording";
import { RuleForm } from "./rule_form";
import type { MonitorStore } from "./store";

export function Header({ store, state }: { store: MonitorStore; state: MonitorState }) {
  const { kind, text } = recording(state);
  const isLost = store.host.trouble() !== null;
  const rate = isLost ? null : store.rate.at(store.now());
  const facts = [
    counted(state.runs_total, "run"),
    ...(kind === "running" && rate !== null && rate >= 0.05 ? [`${formatRate(rate)}/s`] : []),
    ...(state.traces_total > 0 ? [counted(state.traces_total, "trace")] : []),
  ];
  return (
    <div class="toolbar">
      <span class="title" title={state.path}>
        {state.name}
      </span>
      <button
        type="button"
        class="state"
        data-kind={isLost ? "lost" : kind}
        title="Show the session and its processes"
        aria-label={`${text}: show the session and its processes`}
        onClick={() => store.select(null)}
      >
        <i aria-hidden="true" />
        <span>{text}</span>
      </button>
      {!state.waiting && <span class="summary">{facts.join(" · ")}</span>}
      <span class="space" />
      <Filter store={store} />
      <Orders store={store} state={state} />
      <button
        type="button"
        title="Download a copy of the session"
        disabled={state.waiting !== "" || store.isPending("save")}
        onClick={() => store.saveSession()}
      >
        {store.isPending("save") ? "Saving …" : "Save"}
      </button>
      <DetailsButton isOpen={store.panelOpen} toggle={() => store.set({ panelOpen: !store.panelOpen })} />
    </div>
  );
}

function counted(count: number, what: string): string {
  return `${formatCount(count)} ${what}${count === 1 ? "" : "s"}`;
}

function formatRate(rate: number): string {
  return rate < 10 ? rate.toFixed(1) : formatCount(Math.round(rate));
}

function Filter({ store }: { store: MonitorStore }) {
  return (
    <label class="search field">
      <input
        type="text"
        aria-label="Filter signatures"
        placeholder="Filter signatures"
        value={store.filter}
        onInput={(event) => store.set({ filter: event.currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || !store.filter) return;
          event.stopPropagation();
          store.set({ filter: "" });
        }}
      />
      {store.filter ? (
        <button type="button" aria-label="Show all signatures" onClick={() => store.set({ filter: "" })}>
          ×
        </button>
      ) : (
        <kbd>/</kbd>
      )}
    </label>
  );
}

function Orders({ store, state }: { store: MonitorStore; state: MonitorState }) {
  const isAsked = state.requested > 0;
  const cannot = refusal(state);
  const cannotNext = nextRefusal(state);
  return (
    <>
      <button
        type="button"
        class="order"
        title={
          cannotNext ??
          (store.isRunning
            ? "Trace the next run of any signature"
            : "No job is recording. The next job traces its first run")
        }
        disabled={cannotNext !== null || isAsked || store.isPending("next")}
        onClick={() => store.order("next", { do: "trace_next", signature: null })}
      >
        {isAsked ? "Next run requested" : nextRunText(state)}
      </button>
      <Popover
        text="Trace rules"
        title={cannot ?? "Rules for all signatures"}
        disabled={cannot !== null}
        kind="dialog"
        name="Rules for all signatures"
      >
        {(close) => (
          <>
            <h3>Rule for all signatures</h3>
            <RuleForm store={store} signature={null} present={state.rule} done={close} />
            <p class="note">Per-signature rules take precedence.</p>
          </>
        )}
      </Popover>
    </>
  );
}
