/** The legend of the heat map: a colour bar with values, and cells without one. */

import type { Metric } from "../model/fleet/grid";
import { colours, marksOf, type Scale } from "../model/fleet/scale";
import { formatCell } from "../model/format/column_units";
import { unbroken } from "../model/format/units";
import type { Theme } from "../model/paint/palette";

/** Colours of the bar: between them it is drawn evenly. */
const STOPS = 24;

export function Legend({ metric, scale, theme }: { metric: Metric; scale: Scale; theme: Theme }) {
  const all = colours(theme);
  const stops = Array.from(
    { length: STOPS },
    (_, at) => all[Math.round((at * (all.length - 1)) / (STOPS - 1))],
  );
  const [least, low] = [scale.least, scale.low].map((value) => formatCell(value, metric.unit));
  const marks = marksOf(scale).map(({ value, place }, at) => {
    const text = formatCell(value, metric.unit);
    return { place, text: at === 0 && least !== low ? `≤ ${text}` : text };
  });
  const name = `Colours: ${marks.map(({ text }) => text).join(" to ")}`;
  return (
    <div class="heat-legend" role="img" aria-label={name}>
      <span class="scale">
        <i style={{ background: `linear-gradient(to right, ${stops.join(", ")})` }} />
        {marks.map(({ text, place }, at) => (
          <small key={place} data-first={at === 0 || undefined} style={{ left: `${100 * place}%` }}>
            {unbroken(text)}
          </small>
        ))}
      </span>
      <span class="nothing">
        <i />
        <small>not recorded</small>
      </span>
    </div>
  );
}
