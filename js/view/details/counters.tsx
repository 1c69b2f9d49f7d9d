/** Least, mean and highest values of counters in a range of time. */

import { formatAmount } from "../../model/format/amounts";
import { isolated } from "../../model/format/bidi";
import { formatCount } from "../../model/format/units";
import { locationLabel } from "../../model/lanes/labels";
import type { RangeStatistics } from "../../model/search/range_statistics";
import { counterFigures, counterName } from "../../model/wire/counters";
import { ownTracks } from "../../model/wire/own_tracks";
import type { Store } from "../../state/store";
import type { Range } from "./range_totals";

interface CounterTableProps {
  store: Store;
  range: Range;
  /** Null while it is asked for. */
  answer: RangeStatistics | null;
}

const MOST_ROWS = 30;
const MEAN = "Time-weighted mean: sum of value × its duration / time of the range with a value";

export function CounterTable({ store, range, answer }: CounterTableProps) {
  const { start, end, lanes } = range;
  const chosen = lanes && new Set(lanes.map((lane) => placeOf(store.drawn.lanes[lane])));
  const own = ownTracks(store.host.get("tracks")).counters;
  const rows = [...store.counters, ...own].flatMap((track, number) => {
    if (chosen && !chosen.has(placeOf(track))) return [];
    const known = number < store.counters.length ? answer?.counters : undefined;
    const figures = known ? known[number] : counterFigures(track, start, end);
    return figures ? [{ track, figures }] : [];
  });
  if (rows.length === 0 || store.aligned) return null;
  const several = new Set(rows.map(({ track }) => placeOf(track))).size > 1;
  return (
    <>
      <h3>Counters</h3>
      <table class="full counters" aria-label="Counters">
        <thead>
          <tr>
            <th scope="col">Min</th>
            <th scope="col" title={MEAN}>
              Mean
            </th>
            <th scope="col">Max</th>
          </tr>
        </thead>
        {rows.slice(0, MOST_ROWS).map(({ track, figures }) => (
          <tbody key={`${placeOf(track)}\0${track.counter}\0${track.series}`}>
            <tr>
              <th scope="rowgroup" colSpan={3} title={isolated(counterName(track))}>
                {isolated(counterName(track))}
                {several && <small> {locationLabel(track.task, track.device)}</small>}
              </th>
            </tr>
            <tr>
              <td>{formatAmount(figures.least, track.unit)}</td>
              <td>
                {track.reduced && !answer?.counters && "≈ "}
                {formatAmount(figures.mean, track.unit)}
              </td>
              <td>{formatAmount(figures.most, track.unit)}</td>
            </tr>
          </tbody>
        ))}
      </table>
      {rows.length > MOST_ROWS && <p class="unlinked">{formatCount(rows.length - MOST_ROWS)} more</p>}
    </>
  );
}

const placeOf = ({ task, device }: { task: string; device: string }) => `${task}\0${device}`;
