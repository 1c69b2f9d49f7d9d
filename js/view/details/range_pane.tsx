/** The pane below the lanes with the table of a selected range. */

import { useEffect, useRef } from "preact/hooks";
import type { Actions } from "../../input/actions";
import { formatDuration, formatNumber } from "../../model/format/units";
import type { By } from "../../model/search/range_statistics";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { LowerPane } from "../parts/lower_pane";
import { type Range, useStatistics } from "./range_totals";
import { StatisticsTable } from "./statistics_table";

const MAX_ROWS = 200;

interface PaneProps {
  store: Store;
  actions: Actions;
}

export function RangePane(props: PaneProps) {
  const { store } = props;
  useTopics(store, ["selection", "details", "panel", "paint", "layout"]);
  const kept = useRef<Range | null>(null);
  const { range } = store;
  const isCovered = store.codeOpen || (store.graphOpen && !range);
  if (range && !store.isDragged) kept.current = range;
  else if (!range && (isCovered || !isIn(store, kept.current))) kept.current = null;
  return store.tableOpen && kept.current && !isCovered ? <Pane {...props} range={kept.current} /> : null;
}

/** Whether the one event selected is of a range: its row is marked there. */
function isIn(store: Store, range: Range | null): boolean {
  const { selected, selection, drawn } = store;
  if (selected === null || !range || (selection && "events" in selection && selection.events.length > 1))
    return false;
  const isOnLane = range.lanes === null || range.lanes.includes(drawn.lane[selected]);
  return isOnLane && drawn.start[selected] <= range.end && store.end(selected) >= range.start;
}

function Pane({ store, actions, range }: PaneProps & { range: Range }) {
  const answer = useStatistics(store, range);
  // Sorted in another way they are on their way, and the pane stays.
  const isOpen = useRef(false);
  if (answer) isOpen.current = answer.count > 0;
  const isShown = isOpen.current;
  // The timeline makes room for it.
  useEffect(() => store.setPanel({}), [isShown]);
  if (!isShown) return null;
  const by = store.statisticsBy;
  const groups: By[] = ["op", "name", "lane"];
  if (store.run.rest ? store.run.rest !== "lanes" : store.details?.layer(0) != null) groups.push("layer");
  if (store.code) groups.push("line");
  const close = () => {
    store.setPanel({ tableOpen: false });
    actions.focusLanes();
  };
  return (
    <LowerPane
      title="Selected range"
      name="range"
      close={close}
      header={
        <>
          <span class="extent">
            {formatDuration(range.end - range.start)}
            {answer && `, ${formatNumber(answer.count, "event")}`}
          </span>
          <span class="space" />
          <div class="segmented" role="group" aria-label="Sum up by">
            {groups.map((each) => (
              <button
                key={each}
                type="button"
                aria-pressed={each === by}
                onClick={() => store.setPanel({ statisticsBy: each })}
              >
                By {each}
              </button>
            ))}
          </div>
        </>
      }
    >
      {() => (
        <div class="rows">
          <StatisticsTable
            key={by}
            {...{ store, actions, by }}
            rows={answer?.rows ?? null}
            most={MAX_ROWS}
            isFull
          />
        </div>
      )}
    </LowerPane>
  );
}
