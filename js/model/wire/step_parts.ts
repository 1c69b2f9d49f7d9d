/** Parts of each step, by task. */

import { type Container, oneOf } from "./container";
import type { StepBar, StepPartsHeader } from "./schema";

/** A bar for each task of a step, by the step's number; none if unknown. */
export function stepBarsOf(container: Container, step: number): StepBar[] {
  const { parts, parts_tasks: tasks = [] } = container.header as StepPartsHeader;
  if (!parts) return [];
  const steps = oneOf(container, "parts_step", null, [Float64Array]);
  const task = oneOf(container, "parts_task", steps.length, [Uint16Array]);
  const total = oneOf(container, "parts_total", steps.length, [Float64Array]);
  const times = oneOf(container, "parts_ns", steps.length * parts.length, [Float64Array]);
  const bars: StepBar[] = [];
  steps.forEach((number, row) => {
    if (number !== step || total[row] === 0) return;
    const found = parts.map((name, at) => {
      const ns = times[row * parts.length + at];
      return { name, ns, share: ns / total[row] };
    });
    const label = ["Step by main activity", tasks[task[row]]].filter(Boolean).join(", ");
    bars.push({ label, parts: found.filter(({ ns }) => ns > 0) });
  });
  return bars;
}
