/** The totals of a range of time, which the browser or the kernel sums up. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { formatDuration, formatPercent, unbroken } from "../../model/format/units";
import { type By, type RangeStatistics, rangeStatistics } from "../../model/search/range_statistics";
import type { Store } from "../../state/store";

export type Range = NonNullable<Store["range"]>;

const PAUSE_MS = 150;

/** Stands for a total that is not known yet. */
export const UNKNOWN = "…";

/** The latest totals of each timeline: its details and its table ask for the same. */
const latest = new WeakMap<Store, { of: unknown[]; made: unknown }>();

function once<Made>(store: Store, of: unknown[], make: () => Made): Made {
  let known = latest.get(store);
  if (!known?.of.every((each, at) => each === of[at])) {
    known = { of, made: make() };
    latest.set(store, known);
  }
  return known.made as Made;
}

/** See `OriginOf`. */
export function originOf(store: Store, id: number, by: By): string | null {
  if (by === "layer") return store.details?.layer(id) ?? null;
  const frame = store.details?.ownFrame(id);
  return frame?.line ? `${frame.file.name}:${frame.line}` : "";
}

/**
 * Sums over a range; null until they arrive, or if not requested. Computed again only when the question
 * changes.
 */
export function useStatistics(
  store: Store,
  range: Range,
  by: By = store.statisticsBy,
  isWanted = true,
): RangeStatistics | null {
  const { remote, drawn, details } = store;
  const { start, end, lanes, step } = range;
  const question = `${start} ${end} ${lanes} ${step} ${by}`;
  const [answer, setAnswer] = useState<{ question: string; statistics: RangeStatistics } | null>(null);
  useEffect(() => {
    if (!HAS_KERNEL || !remote || !isWanted) return;
    let isAwaited = true;
    // A range that is being dragged is requested once it rests.
    const timer = setTimeout(async () => {
      const statistics = await once(store, [remote, question], () => remote.statistics(range, by));
      if (isAwaited && statistics) setAnswer({ question, statistics });
    }, PAUSE_MS);
    return () => {
      isAwaited = false;
      clearTimeout(timer);
    };
  }, [remote, question, isWanted]);
  const of = [remote ?? drawn, question, details, isWanted];
  const own = useMemo(
    () =>
      !isWanted || (HAS_KERNEL && remote)
        ? null
        : once(store, of, () => rangeStatistics(drawn, range, by, (...of) => originOf(store, ...of))),
    of,
  );
  return own ?? (answer?.question === question ? answer.statistics : null);
}

export function Busy({ answer, length, of }: { answer: RangeStatistics | null; length: number; of: string }) {
  if (!answer) return UNKNOWN;
  return (
    <>
      {formatDuration(answer.busy)}{" "}
      <small>{unbroken(`(${formatPercent(answer.busy / (length || 1))}${of})`)}</small>
    </>
  );
}
