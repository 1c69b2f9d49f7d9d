/** The column at the left: groups that fold, lanes that can be pinned and hidden. Only visible labels are in the DOM. */

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Actions } from "../../input/actions";
import { isolated } from "../../model/format/bidi";
import { formatCount, formatNumber } from "../../model/format/units";
import { laneMeaning } from "../../model/glossary";
import { clockSentence, commonClock } from "../../model/lanes/clock_bounds";
import { locationLabel } from "../../model/lanes/labels";
import { GROUP_HEIGHT, type GroupItem, type LaneItem, ROW_HEIGHT } from "../../model/lanes/layout";
import { OWN_TRACKS } from "../../model/lanes/tracks";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { MiddleCut } from "../../ui/middle_cut";
import { Depth, FoldLane } from "./fold_lane";
import { HideLane } from "./hide_lane";
import { BarsLabel, CounterLabel, MemoryLabel, TensorsLabel } from "./track_labels";

/** So many lanes are worth sorting. */
const MANY_LANES = 24;

export function LaneLabels({ store, column }: { store: Store; column: HTMLElement }) {
  const focused = useRef<Element | null>(null);
  useLayoutEffect(() => keepOneStop(column, focused.current));
  useEffect(() => {
    const { signal } = store;
    const focusing = (event: FocusEvent) => {
      focused.current = event.target as Element;
      keepOneStop(column, focused.current);
    };
    column.addEventListener("focusin", focusing, { signal });
    column.addEventListener("keydown", (event) => moveAmongLabels(column, event), { signal });
  }, []);
  useTopics(store, ["viewport", "layout"], () => `${store.scroll} ${store.height} ${store.revision}`);
  const { scroll, height } = store;
  const above = store.arrangement.items.filter(
    (item): item is GroupItem => item.type === "group" && item.y < scroll,
  );
  // The group that the topmost lane belongs to stays in sight.
  const sticky = above.at(-1);
  const visible = store.arrangement.items.filter(
    (item) => item.y + item.height > scroll && item.y < scroll + height,
  );
  const next = visible.find((item) => item.type === "group" && item !== sticky && item.y >= scroll);
  const pushed = next ? Math.min(0, next.y - scroll - GROUP_HEIGHT) : 0;
  const first = store.arrangement.items.find((item) => item.type === "lane" && item.y + item.height > scroll);
  const isPinnedArea = first?.type === "lane" && first.pinned;
  const under = sticky && !isPinnedArea ? GROUP_HEIGHT + pushed : 0;
  const isSticky = sticky !== undefined && !isPinnedArea;
  return (
    <>
      {visible.map((item) =>
        isSticky && item === sticky ? null : item.type === "group" ? (
          <GroupLabel key={`g ${item.key}`} store={store} item={item} top={item.y - scroll} />
        ) : item.type === "memory" ? (
          <MemoryLabel key={item.key} store={store} item={item} />
        ) : item.type === "counter" ? (
          <CounterLabel key={item.key} store={store} item={item} />
        ) : item.type === "tensors" ? (
          <TensorsLabel key={item.key} store={store} item={item} under={under} />
        ) : item.type === "bars" ? (
          <BarsLabel key={item.key} store={store} item={item} />
        ) : (
          <LaneLabel key={`l ${item.key}`} store={store} item={item} under={under} />
        ),
      )}
      {isSticky && <GroupLabel key="sticky" store={store} item={sticky} top={pushed} sticky />}
    </>
  );
}

function GroupLabel(props: { store: Store; item: GroupItem; top: number; sticky?: boolean }) {
  const { store, item, top, sticky } = props;
  // The sticky header of the device in view covers the header that shows the clock of several devices.
  const known = item.clock ?? (sticky ? commonClock(item.lanes.map((id) => store.drawn.lanes[id])) : null);
  const sentence = known && clockSentence(known);
  const what = item.key === OWN_TRACKS ? "Bars" : "Events";
  return (
    <button
      type="button"
      class="group"
      data-level={item.level}
      data-sticky={sticky ? "" : undefined}
      style={{ top: `${top}px` }}
      title={sentence ? `${item.path}\n${sentence}` : item.path}
      aria-expanded={!item.collapsed}
      onClick={() => store.lanes.fold(item.key)}
    >
      <span class="arrow" aria-hidden="true">
        {item.collapsed ? "▶" : "▼"}
      </span>
      <b>{item.label}</b>
      {(what === "Events" || item.events > 0) && (
        <span class="count" title={what}>
          {formatCount(item.events)}
          <span class="visually-hidden"> {what.toLowerCase()}</span>
        </span>
      )}
    </button>
  );
}

function LaneLabel({ store, item, under }: { store: Store; item: LaneItem; under: number }) {
  const top = item.y - store.scroll;
  // Beside the first row; the text of a tall lane stays in sight while any of its rows is.
  const shift = Math.min(Math.max(under - top, (item.rowHeight - ROW_HEIGHT) / 2), item.height - 24);
  const lane = store.drawn.lanes[item.lane];
  const meaning = laneMeaning(lane);
  const more = [meaning, lane.clock && clockSentence(lane.clock)].filter(Boolean).map((each) => `\n${each}`);
  const called = [locationLabel(lane.task, lane.device), item.label].filter(Boolean).map(isolated).join(" ");
  return (
    <div
      class="label"
      data-tall={item.rows.length > 1 ? "" : undefined}
      style={{ top: `${top}px`, height: `${item.height}px`, paddingTop: `${shift + 3}px` }}
      title={`${isolated(lane.device)} ${isolated(lane.lane)}\n${formatNumber(lane.events, "event")}${more.join("")}`}
    >
      <FoldLane {...{ store, item, called }} top={shift} />
      <span class="text">
        {item.context && <span class="context">{item.context}</span>}
        <b>
          <MiddleCut text={item.label} />
        </b>
        <Depth item={item} />
      </span>
      <span class="tools" style={{ top: `${shift}px` }}>
        <button
          type="button"
          aria-pressed={item.pinned}
          aria-label={`${item.pinned ? "Unpin" : "Pin"} ${called}`}
          title={item.pinned ? "Unpin" : "Pin to the top"}
          onClick={() => store.lanes.pin(item.key)}
        >
          ⇧
        </button>
        <HideLane store={store} item={item} called={called} />
      </span>
    </div>
  );
}

/** Above the labels: which lanes are shown. */
export function LaneFilter({ store, actions }: { store: Store; actions: Actions }) {
  const isAbove = ({ type, y }: { type: string; y: number }) => type === "lane" && y < store.scroll;
  const above = () => store.arrangement.items.filter(isAbove).length;
  useTopics(store, ["layout"]);
  useTopics(store, ["viewport"], above);
  const filter = store.host.get("lane_filter");
  // Two that are compared have one for both.
  const isLower = HAS_PANELS && store.host.pair?.side === 1;
  return (
    <>
      {!isLower && (
        <input
          type="text"
          aria-label="Filter lanes"
          placeholder="Filter lanes"
          title="Type to show only some lanes, for instance: worker 1 copy"
          spellcheck={false}
          value={filter}
          onInput={(event) => store.setOption("lane_filter", event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            store.setOption("lane_filter", "");
            actions.focusLanes();
            event.stopPropagation();
          }}
        />
      )}
      {!isLower && store.drawn.lanes.length >= MANY_LANES && (
        <button
          type="button"
          class="sort"
          aria-label="Busiest first"
          aria-pressed={store.lanes.byBusy}
          title="Sort lanes and groups by busy time, the busiest first"
          onClick={() => store.lanes.sortByBusy(!store.lanes.byBusy)}
        >
          <svg width="12" height="10" viewBox="0 0 12 10" aria-hidden="true">
            <path d="M0 1.5h12M0 5h8M0 8.5h4" fill="none" stroke="currentColor" stroke-width="1.6" />
          </svg>
        </button>
      )}
      {!isLower && above() > 0 && (
        <button type="button" title="Scroll to the first lane" onClick={() => store.scrollTo(0)}>
          ↑ {above()} above
        </button>
      )}
      {store.lanes.hidden.size > 0 && (
        <button type="button" title="Show the hidden lanes again" onClick={() => store.lanes.unhideAll()}>
          +{store.lanes.hidden.size} hidden
        </button>
      )}
    </>
  );
}

/** The buttons of `labels` from the top, each line from the left. */
function buttonsOf(labels: HTMLElement): HTMLElement[][] {
  const lines = [...labels.children].filter((child) => child instanceof HTMLElement);
  return (
    lines
      .sort((one, other) => one.getBoundingClientRect().top - other.getBoundingClientRect().top)
      .map((line) => (line.matches("button") ? [line] : [...line.querySelectorAll<HTMLElement>("button")]))
      // Tools are hidden unless the pointer or the focus is on their label.
      .map((buttons) => buttons.filter((button) => button.offsetParent !== null))
      .filter((buttons) => buttons.length > 0)
  );
}

/** Leave a tab stop to `present` alone, or to the first button where that is gone. */
function keepOneStop(labels: HTMLElement, present: Element | null): void {
  const buttons = buttonsOf(labels).flat();
  const stop = buttons.find((button) => button === present) ?? buttons[0];
  // Tools appear under the pointer.
  for (const button of labels.querySelectorAll("button")) button.tabIndex = button === stop ? 0 : -1;
}

/** Move the focus: up and down to the same button of the next label, left and right within one. */
function moveAmongLabels(labels: HTMLElement, event: KeyboardEvent): void {
  const down = { ArrowDown: 1, ArrowUp: -1 }[event.key] ?? 0;
  const right = { ArrowRight: 1, ArrowLeft: -1 }[event.key] ?? 0;
  if ((!down && !right) || event.ctrlKey || event.metaKey || event.altKey) return;
  const lines = buttonsOf(labels);
  const at = lines.findIndex((line) => line.includes(event.target as HTMLElement));
  if (at < 0) return;
  event.preventDefault();
  event.stopPropagation();
  const line = lines[Math.min(Math.max(at + down, 0), lines.length - 1)];
  const place = lines[at].indexOf(event.target as HTMLElement);
  // Counted from the right, because labels differ at their left.
  const wanted = right ? place + right : line.length - (lines[at].length - place);
  line[Math.min(Math.max(wanted, 0), line.length - 1)].focus();
}
