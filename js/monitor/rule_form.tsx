/** The form for the runs to trace automatically: of one signature, or of all. */

import { useState } from "preact/hooks";
import { isCostly, parseRule, type Rule, type RuleKind, ruleCommand, ruleFault, USUAL } from "./rules";
import type { MonitorStore } from "./store";

interface RuleFormProps {
  store: MonitorStore;
  /** Null for all. */
  signature: number | null;
  /** The present rule as the state has it. */
  present: string;
  /** Called when it has been sent. */
  done?: () => void;
}

const WARNING = "Tracing every run makes it slower, often several times, until you stop the rule.";

export function RuleForm({ store, signature, present, done }: RuleFormProps) {
  const before = parseRule(present);
  const [kind, setKind] = useState<RuleKind>(before.kind);
  // Texts, or else half a number could not be typed.
  const [texts, setTexts] = useState({ ...USUAL, [before.kind]: String(before.value) });
  const rule: Rule = { kind, value: texts[kind].trim() ? Number(texts[kind]) : Number.NaN };
  const fault = ruleFault(rule);
  const isSame = kind === before.kind && rule.value === before.value;
  const key = `rule ${signature}`;
  const submit = (event: Event) => {
    event.preventDefault();
    if (fault || isSame) return;
    store.order(key, ruleCommand(rule, signature));
    done?.();
  };
  const choice = (each: RuleKind, text: string) => (
    <label>
      <input type="radio" name="rule" checked={kind === each} onChange={() => setKind(each)} />
      {text}
    </label>
  );
  const figure = (each: RuleKind, label: string) => (
    <input
      type="number"
      class="field"
      aria-label={label}
      min={each === "every" ? 1 : 0}
      step={each === "every" ? 1 : "any"}
      value={texts[each]}
      // Not by the focus: Tab leads through it to the button.
      onClick={() => setKind(each)}
      onInput={(event) => {
        setKind(each);
        setTexts({ ...texts, [each]: event.currentTarget.value });
      }}
    />
  );
  return (
    <form class="rule" noValidate onSubmit={submit}>
      {choice("none", "No rule")}
      <div>
        {choice("every", "Every")}
        {figure("every", "Number of runs")}
        <span>runs{signature === null && " of each"}</span>
      </div>
      <div>
        {choice("slower", "Runs over")}
        {figure("slower", "Multiple of the median")}
        <span>× the median</span>
      </div>
      {choice("all", "Every run")}
      {kind === "slower" && (
        <p class="note">
          The rule uses the median of the last 64 traced runs. The column vs. untraced uses the median of
          untraced runs.
        </p>
      )}
      {fault && <p class="alert">{fault}</p>}
      {!fault && isCostly(rule) && (
        <p class="alert">
          {kind === "slower" && "All runs are traced to find the slow ones. "}
          {WARNING}
        </p>
      )}
      <button type="submit" disabled={isSame || fault !== null || store.isPending(key)}>
        {kind === "none" && !isSame ? "Stop" : "Apply"}
      </button>
    </form>
  );
}
