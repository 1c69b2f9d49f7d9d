/** The column at the left: groups that fold, lanes that can be pinned and hidden. Only visible labels are in the DOM. */

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Actions } from "../../input/actions";
import { formatAmount } from "../../model/format/amounts";
import { isolated } from "../../model/format/bidi";
import { formatBytes, formatCount, formatDuration, formatNumber, formatTime } from "../../model/format/units";
import { laneMeaning, meaningOf } from "../../model/glossary";
import { clockSentence, commonClock } from "../../model/lanes/clock_bounds";
import { locationLabel } from "../../model/lanes/labels";
import { type GroupItem, type Item, type LaneItem, ROW_HEIGHT } from "../../model/lanes/layout";
import {
  type BarsItem,
  type CounterItem,
  type MemoryItem,
  OWN_TRACKS,
  type TensorsItem,
} from "../../model/lanes/tracks";
import { counterName, lineIn, valueAt } from "../../model/wire/counters";
import { levelAt } from "../../model/wire/memory";
import type { OwnBars } from "../../model/wire/own_tracks";
import { selectNextBar } from "../../state/own_tracks";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { MiddleCut } from "../../ui/middle_cut";
import { ESTIMATED, tensorSentence } from "../details/tensor_texts";

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
  const { scroll, height, sticky, covered } = store;
  const visible = store.arrangement.items.filter(
    ({ type, y, height: own }) => y < scroll + height && y + own > scroll + (type === "group" ? 0 : covered),
  );
  return (
    <>
      {visible.map((item) =>
        item === sticky?.item ? null : item.type === "group" ? (
          <GroupLabel key={`g ${item.key}`} store={store} item={item} top={item.y - scroll} />
        ) : item.type === "memory" ? (
          <MemoryLabel key={item.key} store={store} item={item} />
        ) : item.type === "counter" ? (
          <CounterLabel key={item.key} store={store} item={item} />
        ) : item.type === "tensors" ? (
          <TensorsLabel key={item.key} store={store} item={item} under={covered} />
        ) : item.type === "bars" ? (
          <BarsLabel key={item.key} store={store} item={item} />
        ) : (
          <LaneLabel key={`l ${item.key}`} store={store} item={item} under={covered} />
        ),
      )}
      {sticky && <GroupLabel key="sticky" store={store} {...sticky} sticky />}
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
  const isAbove = ({ type, y }: { type: string; y: number }) =>
    type === "lane" && y < store.scroll + store.covered;
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
          title="Sort lanes and groups by busy time"
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
  // Measured places would have the page laid out for each label that appears.
  const top = (line: HTMLElement) => Number.parseFloat(line.style.top);
  return (
    lines
      .sort((one, other) => top(one) - top(other))
      .map((line) => (line.matches("button") ? [line] : [...line.querySelectorAll<HTMLElement>("button")]))
      // Tools are hidden unless the pointer or the focus is on their label.
      .map((buttons) => buttons.filter((button) => button.checkVisibility()))
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

/** At most this many bars are listed for screen readers. */
const LISTED = 50;
const TEXT_PX = 56;

const APPROXIMATE = "≈: perhaps an earlier value; only some are loaded";

/** A counter: its value at the cursor, and the highest. */
function CounterLabel({ store, item }: { store: Store; item: CounterItem }) {
  useTopics(store, ["hover"], () => store.cursor);
  const { track, context } = item;
  const { cursor } = store;
  const name = counterName(track);
  const most = formatAmount(track.most, track.unit);
  const line = lineIn(track, cursor ?? -1, cursor ?? -1);
  const here = cursor === null ? Number.NaN : valueAt(line, cursor);
  const range = `${formatAmount(track.least, track.unit)} to ${most}`;
  const unsent = track.unsent ? `${formatNumber(track.unsent, "more counter")} not shown` : "";
  const about = [
    isolated([track.counter, track.series].filter(Boolean).join(" ")),
    range,
    line.reduced && APPROXIMATE,
    unsent,
    meaningOf("counter"),
  ];
  return (
    <div
      class="label memory"
      role="group"
      aria-label={[`Counter ${[context, name].filter(Boolean).map(isolated).join(" ")}`, range, unsent]
        .filter(Boolean)
        .join(", ")}
      style={{ top: `${item.y - store.scroll}px`, height: `${item.height}px` }}
      title={about.filter(Boolean).join("\n")}
    >
      <span class="text">
        {context && <span class="context">{context}</span>}
        <b>{name}</b>
        <small>
          {Number.isNaN(here)
            ? `max ${most}`
            : `${line.reduced ? "≈ " : ""}${formatAmount(here, track.unit)} of max ${most}`}
          {unsent && <em> +{formatNumber(track.unsent!, "counter")}</em>}
        </small>
      </span>
      <span class="tools">
        <HideLane store={store} item={item} called={name} />
      </span>
    </div>
  );
}

/** The memory of an allocator: the bytes allocated at the cursor, and the most. */
function MemoryLabel({ store, item }: { store: Store; item: MemoryItem }) {
  useTopics(store, ["hover"], () => store.cursor);
  const { track, context } = item;
  const { cursor } = store;
  const isLow = item.height < 30;
  const level = cursor !== null && formatBytes(levelAt(track, cursor));
  return (
    <div
      class="label memory"
      data-low={isLow ? "" : undefined}
      style={{ top: `${item.y - store.scroll}px`, height: `${item.height}px` }}
    >
      <button
        type="button"
        class="text"
        title={`Memory allocated by ${isolated(track.allocator)}\nSquare: the peak; a click lists its contents`}
        onClick={() => store.showMemory({ track, time: track.at })}
      >
        {context && <span class="context">{context}</span>}
        <b>{track.allocator}</b>
        <small class={level ? undefined : "more"}>
          {level}
          {/* Next to a name there is room for one figure. */}
          {!(level && isLow) && (
            <>
              {level && " of "}
              <i aria-hidden="true">■ </i>
              {!level && "peak "}
              {formatBytes(track.peak)}
            </>
          )}
        </small>
      </button>
      <span class="tools">
        <HideLane store={store} item={item} called={track.allocator} />
      </span>
    </div>
  );
}

/** An allocator's tensors; lists the largest for screen readers. */
function TensorsLabel(props: { store: Store; item: TensorsItem; under: number }) {
  const { store, item, under } = props;
  const { track, context, tensors } = item;
  const called = `${track.allocator} tensors`;
  const top = item.y - store.scroll;
  // The text stays in sight while any of the rows is.
  const shift = Math.min(Math.max(under - top, 0), item.height - TEXT_PX);
  const shown = tensors.rows.flatMap(({ row }) => [...row.ids]);
  const largest = shown.sort((a, b) => track.sizes[b] - track.sizes[a] || a - b).slice(0, LISTED);
  return (
    <div
      class="label memory tensors"
      style={{ top: `${top}px`, height: `${item.height}px`, paddingTop: `${shift}px` }}
    >
      <button
        type="button"
        class="text"
        title={`${track.estimated ? `${ESTIMATED}\n` : ""}Buffers of ${isolated(track.allocator)}, each from its allocation to its free; larger ones are higher\nClick for those at the peak`}
        onClick={() => store.showMemory({ track, time: track.at })}
      >
        {context && <span class="context">{context}</span>}
        <b>{called}</b>
        <small>
          {formatNumber(shown.length, "buffer")}
          {track.estimated && ", estimated"}
        </small>
        {tensors.leftOut > 0 && <small>{formatCount(tensors.leftOut)} smaller not shown</small>}
      </button>
      <ul class="visually-hidden" aria-label={`Largest of ${called}`}>
        {largest.map((at) => (
          <li key={at}>{tensorSentence({ track, at })}</li>
        ))}
      </ul>
      <span class="tools">
        <HideLane store={store} item={item} called={called} />
      </span>
    </div>
  );
}

/** A bar in words: its name, its length and its start. */
function barSentence({ names, lengths, starts }: OwnBars, at: number): string {
  const name = names[at] ? `${isolated(names[at])}, ` : "";
  return `${name}${formatDuration(lengths[at])} at ${formatTime(starts[at], 1000)}`;
}

/** A track of the user's own; lists its bars for screen readers. */
function BarsLabel({ store, item }: { store: Store; item: BarsItem }) {
  const { track } = item;
  const count = formatNumber(track.starts.length, "bar");
  const more = track.starts.length - LISTED;
  return (
    <div
      class="label memory"
      data-low={item.folded ? "" : undefined}
      style={{ top: `${item.y - store.scroll}px`, height: `${item.height}px` }}
    >
      <FoldLane {...{ store, item }} called={isolated(track.name)} top={0} />
      <button
        type="button"
        class="text"
        aria-label={`${isolated(track.name)}, ${count}: select the next one`}
        title={`${isolated(track.name)}: ${count}\nClick to select the next one`}
        onClick={() => selectNextBar(store, track)}
      >
        <b>{track.name}</b>
        <Depth item={item} />
      </button>
      <ul class="visually-hidden" aria-label={`Bars of ${isolated(track.name)}`}>
        {track.starts.slice(0, LISTED).map((_, at) => (
          <li key={at}>{barSentence(track, at)}</li>
        ))}
        {more > 0 && <li>{formatCount(more)} more</li>}
      </ul>
      <span class="tools">
        <HideLane store={store} item={item} called={track.name} />
      </span>
    </div>
  );
}

function HideLane({ store, item, called }: { store: Store; item: Item; called: string }) {
  return (
    <button
      type="button"
      aria-label={`Hide ${called}`}
      title="Hide this lane"
      onClick={() => store.lanes.hide(item.key)}
    >
      ×
    </button>
  );
}

interface FoldLaneProps {
  store: Store;
  item: LaneItem | BarsItem;
  called: string;
  /** How far below the top of the label (CSS px). */
  top: number;
}

function FoldLane({ store, item, called, top }: FoldLaneProps) {
  if (item.depth < 2) return null;
  return (
    <button
      type="button"
      class="fold"
      style={{ top: `${top}px` }}
      aria-expanded={!item.folded}
      aria-label={`${item.depth} rows of ${called}`}
      title={item.folded ? `Show all ${item.depth} rows (Z)` : "Fold to one row (Z)"}
      onClick={() => store.lanes.foldLane(item)}
    >
      {item.folded ? "▸" : "▾"}
    </button>
  );
}

/** The number of rows, after the name of a folded lane. */
function Depth({ item }: { item: LaneItem | BarsItem }) {
  return item.folded ? (
    <small class="depth" title={`${item.depth} rows`}>
      ▸<span class="visually-hidden">{` ${item.depth} rows`}</span>
    </small>
  ) : null;
}
