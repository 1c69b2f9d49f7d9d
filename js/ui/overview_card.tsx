/** The overview of a trace: the parts of step time as bars, figures and findings. */

import { formatDuration, formatPercent, unbroken } from "../model/format/units";
import { meaningOf } from "../model/glossary";
import { activityColour, activityLabel } from "../model/paint/palette";
import type { Finding, OverviewCard, OverviewLine, StepBar, StepPart, Zoom } from "../model/wire/schema";
import { ScopedText } from "./scoped_text";

/** Smaller parts of a step are narrower than a pixel and cannot be seen in a bar. */
const LEAST_SHARE = 0.003;
/** Smaller parts are a few pixels wide. */
const LEAST_NAMED = 0.02;
const PRECEDENCE = "Of several activities at once, the leftmost counts";

/** How long a step takes, and the parts of each task's step time. */
export function StepCard({ card }: { card: OverviewCard }) {
  return (
    <>
      {card.step_time && <OverviewLines lines={[card.step_time]} />}
      <StepBars bars={card.bars} />
    </>
  );
}

/** The parts of a step of each task, laid end to end. */
export function StepBars({ bars }: { bars: readonly StepBar[] }) {
  if (bars.length === 0) return null;
  return (
    <div class="step-card">
      {bars.map(({ label, parts }) => (
        <div key={label} class="step-parts">
          <small>{label}</small>
          <div class="stack" role="img" aria-label={`${label}: ${parts.map(partText).join("; ")}`}>
            {parts.filter(isSeen).map((part) => (
              <i
                key={part.name}
                title={[partText(part), meaningOf(activityLabel(part.name)), PRECEDENCE].join("\n")}
                style={{ flexGrow: part.share, background: colourOf(part.name) }}
                data-name={part.name}
              />
            ))}
          </div>
        </div>
      ))}
      {/* Of several tasks, ranges of shares would say less than the bars: the legend below the lanes has the colours. */}
      {bars.length === 1 && <Legend parts={bars[0].parts} />}
    </div>
  );
}

/** The rest of a finding, beyond its few sentences. */
export function HowMeasured({ text }: { text: string }) {
  return text ? (
    <details class="how">
      <summary>How this was measured</summary>
      <p>{unbroken(text)}</p>
    </details>
  ) : null;
}

export function OverviewLines({ lines }: { lines: readonly OverviewLine[] }) {
  return (
    <dl class="overview-lines">
      {lines.map(([term, values, about]) => (
        <Line key={term} term={term} values={values} about={about} />
      ))}
    </dl>
  );
}

function isSeen({ share }: StepPart): boolean {
  return share >= LEAST_SHARE;
}

function partText({ name, ns, share }: StepPart): string {
  return `${activityLabel(name)}: ${formatDuration(ns)}, ${formatPercent(share)}`;
}

/** The parts that matter; the tooltips have the others. */
function Legend({ parts }: { parts: readonly StepPart[] }) {
  return (
    <p class="step-legend">
      {parts
        .filter(({ share }) => share >= LEAST_NAMED)
        .map(({ name, share, change }) => (
          <span key={name} title={meaningOf(activityLabel(name))}>
            <i class="swatch" style={{ background: colourOf(name) }} />
            {activityLabel(name)} {formatPercent(share)}
            {change}
          </span>
        ))}
    </p>
  );
}

function Line({ term, values, about }: { term: string; values: readonly string[]; about: string }) {
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

/** For light and dark, by the surrounding theme. */
function colourOf(name: string): string {
  return `light-dark(${activityColour(name, "light")}, ${activityColour(name, "dark")})`;
}

interface FindingBodyProps {
  finding: Finding;
  onShow: (zoom: Zoom) => void;
}

/** The text, the advice and the button of a finding. */
export function FindingBody({ finding: { title, text, advice, zoom }, onShow }: FindingBodyProps) {
  return (
    <>
      <p>{unbroken(text)}</p>
      {advice && <p class="advice">{unbroken(advice)}</p>}
      <button type="button" aria-label={`Show: ${title}`} onClick={() => onShow(zoom)}>
        Show
      </button>
    </>
  );
}
