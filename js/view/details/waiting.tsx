/**
 * The critical path by activity, and sums of a step's waits and of devices' idle times by cause. Each shows the longest
 * of its pieces; a cause of idle time selects the events that end its gaps.
 */

import type { Actions } from "../../input/actions";
import { isolated } from "../../model/format/bidi";
import { formatDuration, formatPercent } from "../../model/format/units";
import { locationLabel } from "../../model/lanes/labels";
import { type Pieces, type Sum, sums } from "../../model/wire/waiting";
import { isCritical } from "../../state/critical_path";
import type { Store } from "../../state/store";
import { PlainTable } from "../../ui/table";
import { PanelHeader } from "./header";
import { LinkList } from "./lists";

const PATH = "Critical path";
const NO_LANES: readonly number[] = [];

/** In place of the overview while the critical path is lit. */
export function PathDetails({ store, actions }: { store: Store; actions: Actions }) {
  return (
    <>
      <PanelHeader store={store} title={PATH} />
      <WaitingSummary store={store} actions={actions} {...store.whole} lanes={NO_LANES} />
    </>
  );
}

interface WaitsProps {
  store: Store;
  actions: Actions;
  start: number;
  end: number;
  /** Null for all lanes. */
  lanes: readonly number[] | null;
  /** Whether to name the event that is behind most of it. */
  isOne?: boolean;
}

export function WaitingSummary({ store, actions, start, end, lanes, isOne = false }: WaitsProps) {
  const waiting = store.details?.waiting;
  // Aligned steps have times of their own.
  if (HAS_KERNEL && store.run.rest && isCritical(store))
    return <p class="unlinked">For traces this large the critical path is highlighted but not listed.</p>;
  if (!waiting || store.aligned) return null;
  const { path, idle } = waiting;
  const chosen = store.drawn.lanes.filter((lane) => lanes === null || lanes.includes(lane.id));
  const idled = idle ? sums(idle, start, end, waiting.isOf(chosen)) : [];
  const devices = waiting.devicesOf(chosen);
  const cause = idle?.event[idled[0]?.pieces[0]] ?? -1;
  return (
    <>
      {path && isCritical(store) && (
        <Causes
          title={PATH}
          pieces={path}
          rows={sums(path, start, end)}
          choose={({ pieces: [at] }) => {
            if (path.event[at] >= 0) actions.visit(path.event[at]);
            actions.show({ start: path.start[at], end: path.end[at] }, 1);
          }}
        />
      )}
      {idle && idled.length > 0 && (
        <Causes
          title={`Idle time in steps by cause, ${devices.length > 1 ? `sum of ${devices.length} devices` : isolated(locationLabel(...devices[0]))}`}
          pieces={idle}
          rows={idled}
          choose={({ pieces }) => {
            const [at] = pieces;
            const lane = chosen.find((each) => waiting.isOf([each])(at));
            const range = { start: idle.start[at], end: idle.end[at] };
            const ended = new Set(pieces.map((piece) => waiting.endedBy(piece, store.drawn)));
            ended.delete(-1);
            const lanes = lane ? [lane.id] : null;
            store.select(ended.size ? { events: [...ended] } : { ...range, lanes, step: store.stepNumber });
            if (lane) actions.keepLanesInSight([lane.id]);
            actions.show(range, 0.3);
          }}
        />
      )}
      {isOne && store.drawn.start[cause] <= end && store.end(cause) >= start && (
        <LinkList {...{ store, actions }} title="In the longest gap" events={[cause]} />
      )}
    </>
  );
}

function Causes({
  title,
  pieces,
  rows,
  choose,
}: {
  title: string;
  pieces: Pieces;
  rows: Sum[];
  choose: (row: Sum) => void;
}) {
  const whole = rows.reduce((sum, row) => sum + row.total, 0);
  return (
    <section aria-label={title}>
      <h3>{title === PATH ? "By activity" : title}</h3>
      <PlainTable
        class="causes"
        name={title}
        rows={rows.map((row) => [
          <button type="button" title={pieces.kinds[row.kind][1]} onClick={() => choose(row)}>
            {pieces.kinds[row.kind][0]}
          </button>,
          formatDuration(row.total),
          formatPercent(row.total / whole),
        ])}
      />
    </section>
  );
}
