/** The totals of a range of time, which the browser or the kernel sums up. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { formatDuration, formatPercent, unbroken } from "../../model/format/units";
import { type RangeStatistics, rangeStatistics } from "../../model/search/range_statistics";
import type { Store } from "../../state/store";

export type Range = NonNullable<Store["range"]>;

const PAUSE_MS = 150;

/** Stands for a total that is not known yet. */
export const UNKNOWN = "…";

/**
 * Sums over a range; null while they are requested, or where they are not. Made again only when the question
 * changes.
 */
export function useStatistics(store: Store, range: Range, isWanted = true): RangeStatistics | null {
  const { remote, statisticsBy: by } = store;
  const { start, end, lanes, step } = range;
  const question = `${start} ${end} ${lanes} ${step} ${by}`;
  const [answer, setAnswer] = useState<{ question: string; statistics: RangeStatistics } | null>(null);
  useEffect(() => {
    if (!HAS_KERNEL || !remote || !isWanted) return;
    let isAwaited = true;
    // A range that is being dragged is requested once it rests.
    const timer = setTimeout(async () => {
      const statistics = await remote.statistics(range, by);
      if (isAwaited && statistics) setAnswer({ question, statistics });
    }, PAUSE_MS);
    return () => {
      isAwaited = false;
      clearTimeout(timer);
    };
  }, [remote, question, isWanted]);
  const own = useMemo(
    () => (HAS_KERNEL && remote ? null : rangeStatistics(store.drawn, range, by)),
    [remote ?? store.drawn, question],
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
