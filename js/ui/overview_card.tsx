/** The overview of a trace: the parts of the median step as bars, and figures. */

import { formatPercent, unbroken } from "../model/format/units";
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

/** The parts that can be seen, each once, with the range of its shares. */
function Legend({ card }: { card: OverviewCard }) {
  const all = card.bars.flatMap(({ parts }) => parts);
  const seen = new Map<string, string>();
  for (const { name, share, text } of all)
    if (share >= LEAST_SHARE && !seen.has(name)) {
      const of = all.filter((part) => part.name === name).map((part) => part.share);
      // A bar without the part has none of it.
      const least = of.length < card.bars.length ? 0 : Math.min(...of);
      seen.set(name, `${text.slice(0, text.indexOf(":"))} ${percentRange(least, Math.max(...of))}`);
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

/** "12.3 %", "12.3–45.6 %". */
function percentRange(least: number, most: number): string {
  const [first, last] = [formatPercent(least), formatPercent(most)];
  return first === last ? last : `${first.replace(" %", "")}–${last}`;
}

function Line({ term, values, about }: { term: string; values: string[]; about: string }) {
  return (
    <>
      <dt title={about}>{term}</dt>
      <dd>
        {values.map((value) => (
          <div key={value}>
            <ScopedText text={unbroken(value)} />
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
