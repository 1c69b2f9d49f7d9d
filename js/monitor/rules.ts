/** Rules: which runs are traced of themselves. In a state they are texts such as "every 1000". */

import { formatCount } from "../model/format/units";
import type { RuleCommand } from "./host";

export type RuleKind = "none" | "all" | "every" | "slower";

export interface Rule {
  kind: RuleKind;
  /** The number of runs for "every", the factor for "slower"; otherwise 0. */
  value: number;
}

/** Initial values of the fields for a rule. */
export const USUAL: Record<RuleKind, string> = { none: "0", all: "0", every: "1000", slower: "3" };

export function parseRule(text: string): Rule {
  const [kind, value] = text.split(" ");
  if (kind === "all") return { kind, value: 0 };
  const number = Number(value);
  if ((kind === "every" || kind === "slower") && number > 0) return { kind, value: number };
  return { kind: "none", value: 0 };
}

/** Whether a rule makes every run as slow as tracing is; whether a run was slow is known when it has been traced. */
export function isCostly(rule: Rule): boolean {
  return rule.kind === "all" || rule.kind === "slower" || (rule.kind === "every" && rule.value === 1);
}

/** "every run", "every 1,000th run", "runs over 3× the median of the last 64"; "" for no rule. */
export function ruleName(rule: Rule): string {
  if (rule.kind === "all") return "every run";
  if (rule.kind === "every") return `every ${ordinal(rule.value)} run`;
  if (rule.kind === "slower") return `runs over ${formatCount(rule.value)}× the median of the last 64`;
  return "";
}

/** The same in a word or two: "all", "every 1,000", "> 3×". */
export function ruleMark(rule: Rule): string {
  if (rule.kind === "all") return "all";
  if (rule.kind === "every") return `every ${formatCount(rule.value)}`;
  return rule.kind === "slower" ? `> ${formatCount(rule.value)}×` : "";
}

/** "1st", "2nd", "11th", "1,000th". */
export function ordinal(value: number): string {
  const last = value % 100;
  const suffix = last > 10 && last < 14 ? "th" : (["th", "st", "nd", "rd"][value % 10] ?? "th");
  return `${formatCount(value)}${suffix}`;
}

/** Why a rule cannot be, in words; null of one that can. */
export function ruleFault(rule: Rule): string | null {
  if (rule.kind === "every" && !(Number.isInteger(rule.value) && rule.value >= 1))
    return "Enter a whole number of runs, 1 or more.";
  if (rule.kind === "slower" && !(rule.value > 0 && Number.isFinite(rule.value)))
    return "Enter a multiple of the median, such as 3.";
  return null;
}

export function ruleCommand(rule: Rule, signature: number | null): RuleCommand {
  if (rule.kind === "every") return { do: "trace_every", n: rule.value, signature };
  if (rule.kind === "slower") return { do: "trace_slow", factor: rule.value, signature };
  return { do: rule.kind === "all" ? "trace_all" : "stop_tracing", signature };
}
