/** The overview of a trace: the parts of the median step as bars, and figures. */

import { formatPercent } from "../model/format/units";
import { categoryColour } from "../model/paint/palette";
import type { OverviewCard, StepPart } from "../model/wire/overview";
import { ScopedText } from "./scoped_text";

/** Smaller parts of a step cannot be seen in a bar. */
const LEAST_SHARE = 0.02;

/** The parts of the median step of each task, laid end to end. */
export function StepParts({ card }: { card: OverviewCard }) {
  return (
    <>
      {card.bars.map(({ label, parts }) => (
        <div key={label} class="step-parts">
          <small>{label}</small>
          <div class="stack" role="img" aria-label={`${label}: ${parts.map(({ text }) => text).join("; ")}`}>
            {parts.map((part) => (
              <Part key={part.name} part={part} />
            ))}
          </div>
        </div>
      ))}
      <Legend card={card} />
    </>
  );
}

export function OverviewLines({ card }: { card: OverviewCard }) {
  return (
    <dl class="overview-lines">
      {card.lines.map(([term, values, about]) => (
        <Line key={term} term={term} values={values} about={about} />
      ))}
    </dl>
  );
}

function Part({ part }: { part: StepPart }) {
  return (
    <i
      title={part.text}
      style={{ flexGrow: part.share, background: colourOf(part.name) }}
      data-name={part.name}
    />
  );
}

/** The parts that can be seen, each once; of a single task with their shares. */
function Legend({ card }: { card: OverviewCard }) {
  const seen = new Map<string, string>();
  for (const { parts } of card.bars)
    for (const { name, share, text } of parts)
      if (share >= LEAST_SHARE && !seen.has(name)) {
        const label = text.slice(0, text.indexOf(":"));
        seen.set(name, card.bars.length > 1 ? label : `${label} ${formatPercent(share)}`);
      }
  return (
    <p class="step-legend">
      {[...seen].map(([name, label]) => (
        <span key={name}>
          <i class="swatch" style={{ background: colourOf(name) }} />
          {label}
        </span>
      ))}
    </p>
  );
}

function Line({ term, values, about }: { term: string; values: string[]; about: string }) {
  return (
    <>
      <dt title={about}>{term}</dt>
      <dd>
        {values.map((value) => (
          <div key={value}>
            <ScopedText text={value} />
          </div>
        ))}
      </dd>
    </>
  );
}

/** In light and in dark, as the theme around it is. */
function colourOf(name: string): string {
  return `light-dark(${categoryColour(name, "light")}, ${categoryColour(name, "dark")})`;
}
