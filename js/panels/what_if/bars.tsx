/** A step as recorded and as predicted: bars on one scale, stacked by activity. */

import { formatDuration } from "../../model/format/units";
import { meaningOf } from "../../model/glossary";
import { activityColour, activityLabel } from "../../model/paint/palette";
import type { Outcome, TimedPart } from "../blocks";

interface Bar {
  label: string;
  ns: number;
  parts: readonly TimedPart[];
  isPredicted: boolean;
}

/** The bars of `now`, as recorded, and of `then`, if something is predicted. */
export function Bars({ now, then }: { now: Outcome; then: Outcome | null }) {
  const bars: Bar[] = [
    { label: "Recorded", ns: now.recorded_ns, parts: now.parts, isPredicted: false },
    {
      label: "Predicted",
      ns: (then ?? now).predicted_ns,
      parts: (then ?? now).parts,
      isPredicted: true,
    },
  ];
  const longest = Math.max(...bars.map(({ ns }) => ns), 1);
  const names = new Set(bars.flatMap(({ parts }) => parts.map(({ name }) => name)));
  return (
    <>
      <dl class="what-if-bars">
        {bars.map(({ label, ns, parts, isPredicted }) => (
          <>
            <dt>{label}</dt>
            <dd>
              <div
                class="stack"
                role="img"
                aria-label={`${label}: ${parts.map(partText).join("; ")}`}
                data-predicted={isPredicted || undefined}
                style={{ width: `${(100 * ns) / longest}%` }}
              >
                {parts.map((part) => (
                  <i
                    key={part.name}
                    title={[partText(part), meaningOf(activityLabel(part.name))].join("\n")}
                    style={{ flexGrow: part.ns / Math.max(ns, 1), background: colourOf(part.name) }}
                  />
                ))}
              </div>
            </dd>
            <dd>{formatDuration(ns)}</dd>
          </>
        ))}
      </dl>
      <p class="step-legend">
        {[...names].map((name) => (
          <span key={name} title={meaningOf(activityLabel(name))}>
            <i class="swatch" style={{ background: colourOf(name) }} />
            {activityLabel(name)}
          </span>
        ))}
      </p>
    </>
  );
}

function partText({ name, ns }: TimedPart): string {
  return `${activityLabel(name)} ${formatDuration(ns)}`;
}

function colourOf(name: string): string {
  return `light-dark(${activityColour(name, "light")}, ${activityColour(name, "dark")})`;
}
