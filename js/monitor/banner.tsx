/** Alerts: the server or kernel does not answer, recording stopped, or every run is slow. */

import type { MonitorState } from "./host";
import { capital, pendingText } from "./recording";
import { isCostly, parseRule, type Rule, ruleName } from "./rules";
import type { MonitorStore } from "./store";

export function Banners({ store, state }: { store: MonitorStore; state: MonitorState | null }) {
  const trouble = store.host.trouble();
  return (
    <>
      {trouble && (
        <p class="banner" data-kind="alert" role="alert">
          {trouble}
        </p>
      )}
      {state?.problem && (
        <p class="banner" data-kind="alert" role="alert">
          {capital(state.problem)}
        </p>
      )}
      {state && <Ordered store={store} state={state} />}
    </>
  );
}

function Ordered({ store, state }: { store: MonitorStore; state: MonitorState }) {
  const rule = parseRule(state.rule);
  const isAsked = state.requested > 0 && store.isLongAsked;
  if (rule.kind === "none" && !isAsked) return null;
  const isSlow = isCostly(rule) && store.isRunning;
  return (
    <div class="banner" data-kind={isSlow ? "alert" : "note"} role="status">
      <span>
        {rule.kind === "none" ? (
          pendingText(state.requested, store.isRunning)
        ) : (
          <RuleText rule={rule} isRunning={store.isRunning} />
        )}
      </span>
      <button
        type="button"
        title="Cancels all requests and rules"
        disabled={!state.controllable || store.isPending("rule null")}
        onClick={() => store.order("rule null", { do: "stop_tracing", signature: null })}
      >
        {rule.kind === "none" ? "Cancel" : "Stop"}
      </button>
    </div>
  );
}

function RuleText({ rule, isRunning }: { rule: Rule; isRunning: boolean }) {
  const name = ruleName(rule);
  const isMany = rule.kind === "slower";
  const ofEach = rule.kind === "every" && rule.value > 1 ? ", of each signature" : "";
  const isSlow = isCostly(rule);
  if (isRunning)
    return (
      <>
        <b>{capital(name)}</b> {isMany ? "are kept as traces" : "is kept as a trace"}
        {ofEach}.{isSlow && " Each run is as slow as TensorFlow's tracing makes it."}
      </>
    );
  return (
    <>
      A rule waits for the next job: <b>{name}</b> will be kept as {isMany ? "traces" : "a trace"}
      {ofEach}.{isSlow && " Each run will be as slow as TensorFlow's tracing makes it."}
    </>
  );
}
