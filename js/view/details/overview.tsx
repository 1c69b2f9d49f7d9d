/** The panel while nothing is selected: the run or the step in short. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Actions } from "../../input/actions";
import { formatCount, formatDuration, formatNumber } from "../../model/format/units";
import { kindIn } from "../../model/lanes/event_text";
import { eventsShown, lengthShown, stepName } from "../../model/lanes/step_bars";
import { eventCount } from "../../model/lod/merged";
import type { RangeStatistics } from "../../model/search/range_statistics";
import { NO_STEP } from "../../model/types";
import type { Finding, StepBar } from "../../model/wire/schema";
import { shownAnnotations } from "../../state/annotations";
import type { Store } from "../../state/store";
import { Facts } from "../../ui/facts";
import { OverviewLines, StepBars, StepCard } from "../../ui/overview_card";
import { hasTabs } from "../sizes";
import { AnnotationList } from "./annotation_list";
import { FindingList } from "./findings";
import { PanelHeader } from "./header";
import { Busy, useStatistics } from "./range_totals";
import { StatisticsTable } from "./statistics_table";
import { WaitingSummary } from "./waiting";

const MAX_SHORT_ROWS = 12;
const PATIENCE_MS = 1000;
/** Events of a dataset that are read only to say how busy it is as a whole. */
const MOST_SUMMED = 5_000_000;

export function Overview({ store, actions }: { store: Store; actions: Actions }) {
  const overview = store.details?.overview;
  const isWhole = store.step === null && !store.aligned;
  const card = isWhole ? overview : null;
  // Why this step is slow comes first.
  const isOfStep = ({ steps }: Finding) => store.step !== null && !!steps?.includes(store.stepNumber!);
  const isSlow = overview?.findings.items.some(isOfStep);
  const findings = overview && (
    <FindingList
      {...{ store, actions }}
      block={{
        ...overview.findings,
        items: [...overview.findings.items].sort((a, b) => +isOfStep(b) - +isOfStep(a)),
      }}
      scope={isSlow ? "" : " of the whole run"}
    />
  );
  // Tabs have the rest, of all steps.
  if (HAS_PANELS && isWhole && hasTabs(store.host))
    return (
      <>
        <PanelHeader store={store} title="Whole run" />
        <AllAnnotations store={store} actions={actions} />
      </>
    );
  return (
    <>
      <PanelHeader
        store={store}
        title={
          store.aligned
            ? "Steps aligned"
            : store.step === null
              ? "Whole run"
              : stepName(store.run.steps[store.step])
        }
      />
      {HAS_KERNEL && store.run.rest && (
        <p class="unlinked">
          {store.run.rest === "lanes"
            ? "For figures see dataset.steps and .ops. Drag to sum up a range here."
            : "This trace is too large for the overview here. Use show_dashboard."}
        </p>
      )}
      <AllAnnotations store={store} actions={actions} />
      {card && <StepCard card={card} />}
      {!isWhole && <StepBars bars={stepBarsShown(store)} />}
      {card ? (
        <FindingList
          {...{ store, actions }}
          block={card.findings}
          more={() => (
            <>
              <OverviewLines lines={card.lines} />
              <Figures store={store} actions={actions} />
            </>
          )}
        />
      ) : (
        <>
          {isSlow && findings}
          <Figures store={store} actions={actions} />
          {!isSlow && findings}
        </>
      )}
    </>
  );
}

function Figures({ store, actions }: { store: Store; actions: Actions }) {
  const whole = { ...store.whole, lanes: null, step: store.stepNumber };
  const isSummed = store.run.rest !== "lanes" || eventCount(store.run) <= MOST_SUMMED;
  // The first picture and the findings come before sums of a million events, but a busy kernel may send no findings.
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = HAS_KERNEL ? setTimeout(() => setLate(true), PATIENCE_MS) : 0;
    return () => clearTimeout(timer);
  }, []);
  const answer = useStatistics(store, whole, "op", isSummed && (isLate || !store.awaitsDetails));
  const rows = answer && worked(store, answer.rows);
  const leftOut = store.aligned ? store.run.count - eventsShown(store) : 0;
  return (
    <>
      <Facts
        facts={[
          ["Length", formatDuration(lengthShown(store))],
          ["Events", formatCount(eventsShown(store))],
          leftOut > 0 && ["Left out", `${formatNumber(leftOut, "event")} outside any step`],
          !store.aligned &&
            isSummed &&
            store.stepNumber !== NO_STEP && [
              "Any lane busy",
              <Busy answer={answer} length={whole.end - whole.start} of=" of the time shown" />,
            ],
        ]}
      />
      {isSummed && (
        <>
          <h3>Top ops by busy time</h3>
          <StatisticsTable store={store} actions={actions} rows={rows} most={MAX_SHORT_ROWS} />
        </>
      )}
      {rows && rows.length < answer.rows.length && (
        <p class="unlinked">Host calls are nested and left out here. Drag a range to include them.</p>
      )}
      <WaitingSummary store={store} actions={actions} {...whole} />
    </>
  );
}

function AllAnnotations({ store, actions }: { store: Store; actions: Actions }) {
  const section = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!store.isAskedForAnnotations) return;
    store.isAskedForAnnotations = false;
    section.current?.querySelector<HTMLElement>(".link")?.focus({ preventScroll: true });
    section.current?.scrollIntoView({ block: "nearest" });
  });
  return (
    <div ref={section}>
      <AnnotationList {...{ store, actions }} annotations={shownAnnotations(store)} />
    </div>
  );
}

/**
 * Rows other than frames of the program: frames contain each other and their ops, so the outermost would
 * always come first. Frames alone are kept if there is nothing else.
 */
function worked(store: Store, rows: RangeStatistics["rows"]): RangeStatistics["rows"] {
  const others = rows.filter((row) => kindIn(store.drawn.categories[row.category]) !== "host");
  return others.length > 0 ? others : rows;
}

export function stepBarsShown({ details, stepNumber, aligned }: Store): readonly StepBar[] {
  if (!details || aligned) return [];
  return stepNumber === null ? (details.overview?.bars ?? []) : details.stepBars(stepNumber);
}
