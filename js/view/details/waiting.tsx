/** The critical path by activity, and sums of a step's waits and of devices' idle times by cause; each links to the longest of its pieces. */

import type { Actions } from "../../input/actions";
import { formatDuration, formatPercent } from "../../model/format/units";
import { type Pieces, type Sum, sums } from "../../model/wire/waiting";
import { isCritical } from "../../state/critical_path";
import type { Store } from "../../state/store";
import { PanelHeader } from "./header";
import { EventLink } from "./lists";

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
  if (HAS_KERNEL && store.remote && isCritical(store))
    return <p class="unlinked">For traces this large the critical path is highlighted but not listed.</p>;
  if (!waiting || store.aligned) return null;
  const { path, idle } = waiting;
  const chosen = store.drawn.lanes.filter((lane) => lanes === null || lanes.includes(lane.id));
  const idled = idle ? sums(idle, start, end, waiting.isOf(chosen)) : [];
  const devices = waiting.deviceCount(chosen);
  const cause = idle && idled.length > 0 ? idle.event[idled[0].longest] : -1;
  return (
    <>
      {path && isCritical(store) && (
        <Table
          title={PATH}
          pieces={path}
          rows={sums(path, start, end)}
          choose={(at) => {
            if (path.event[at] >= 0) actions.visit(path.event[at]);
            actions.show({ start: path.start[at], end: path.end[at] }, 1);
          }}
        />
      )}
      {idle && idled.length > 0 && (
        <Table
          title={`Idle time by cause${devices > 1 ? `, sum of ${devices} devices` : ""}`}
          pieces={idle}
          rows={idled}
          choose={(at) => {
            const lane = chosen.find((each) => waiting.isOf([each])(at));
            const range = { start: idle.start[at], end: idle.end[at] };
            store.select({ ...range, lanes: lane ? [lane.id] : null, step: store.stepNumber });
            if (lane) actions.keepLanesInSight([lane.id]);
            actions.show(range, 0.3);
          }}
        />
      )}
      {isOne && cause >= 0 && <EventLink store={store} actions={actions} id={cause} />}
    </>
  );
}

function Table({
  title,
  pieces,
  rows,
  choose,
}: {
  title: string;
  pieces: Pieces;
  rows: Sum[];
  choose: (at: number) => void;
}) {
  const whole = rows.reduce((sum, row) => sum + row.total, 0);
  return (
    <section aria-label={title}>
      <h3>{title === PATH ? "By activity" : title}</h3>
      <table class="causes" aria-label={title}>
        <tbody>
          {rows.map(({ kind, total, longest }) => (
            <tr key={kind} title={pieces.kinds[kind][1]}>
              <td>
                <button type="button" onClick={() => choose(longest)}>
                  {pieces.kinds[kind][0]}
                </button>
              </td>
              <td>{formatDuration(total)}</td>
              <td>{formatPercent(total / whole)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
