/** The context menu of an event or a lane, opened by a right click or the menu key. */

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Actions } from "../../input/actions";
import { nameOf } from "../../model/lanes/event_text";
import type { GroupItem, Item, LaneItem } from "../../model/lanes/layout";
import { type BarsItem, trackName } from "../../model/lanes/tracks";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { moveInMenu } from "../../ui/arrow_keys";

interface Entry {
  label: string;
  keys?: string;
  run: () => void;
}

export function ContextMenu({ store, actions }: { store: Store; actions: Actions }) {
  useTopics(store, ["panel", "layout"]);
  const box = useRef<HTMLDivElement>(null);
  const { menu } = store;
  const close = () => {
    store.setPanel({ menu: null });
    actions.focusLanes();
  };
  useLayoutEffect(() => {
    const element = box.current;
    if (!menu || !element) return;
    element.showPopover();
    element.style.left = `${Math.max(Math.min(menu.x, innerWidth - element.offsetWidth - 6), 4)}px`;
    element.style.top = `${Math.max(Math.min(menu.y, innerHeight - element.offsetHeight - 6), 4)}px`;
    element.querySelector<HTMLElement>("[role=menuitem]")?.focus({ preventScroll: true });
  }, [menu]);
  useEffect(() => {
    if (!menu) return;
    const listening = new AbortController();
    const options = { capture: true, signal: listening.signal };
    const away = (event: Event) => {
      if (!event.composedPath().includes(box.current as EventTarget)) store.setPanel({ menu: null });
    };
    for (const kind of ["pointerdown", "wheel", "scroll"]) document.addEventListener(kind, away, options);
    window.addEventListener("resize", away, options);
    return () => listening.abort();
  }, [menu]);
  const item = menu && store.arrangement.items.find(({ key }) => key === menu.key);
  if (!menu || !item) return null;
  const sections = [
    ...(menu.event === null ? [] : [eventEntries(menu.event, actions)]),
    item.type === "lane" ? laneEntries(item, store, actions) : otherEntries(item, store, actions),
  ];
  return (
    <div ref={box} class="popover" popover="manual">
      <div
        role="menu"
        aria-label={menu.event === null ? "Lane" : "Event"}
        tabIndex={-1}
        onKeyDown={(event) => {
          if (event.key === "Escape" || event.key === "Tab") {
            close();
            event.preventDefault();
            event.stopPropagation();
          } else moveInMenu(event);
        }}
      >
        {sections.map((entries, section) => (
          <div key={section} role="group">
            {entries.map(({ label, keys, run }) => (
              <button
                key={label}
                type="button"
                role="menuitem"
                tabIndex={-1}
                onClick={() => {
                  close();
                  run();
                }}
              >
                {label} {keys && <kbd>{keys}</kbd>}
              </button>
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}

function eventEntries(id: number, actions: Actions): Entry[] {
  const { store } = actions;
  const begin = store.drawn.start[id];
  return [
    {
      label: "Zoom to event",
      run: () => actions.show({ start: begin, end: Math.max(store.end(id), begin + 10) }),
    },
    { label: "Copy name", keys: "Ctrl C", run: () => actions.copy(nameOf(store.drawn, id)) },
    { label: "Select same name", run: () => actions.selectSameName(id) },
    {
      label: "Annotate",
      keys: "N",
      run: () => {
        actions.visit(id);
        actions.annotate();
      },
    },
    {
      label: "Show graph",
      keys: "G",
      run: () => {
        actions.visit(id);
        if (!store.graphOpen) actions.toggleGraph();
      },
    },
  ];
}

function foldEntries(item: LaneItem | BarsItem, store: Store): Entry[] {
  const label = item.folded ? `Show all ${item.depth} rows` : "Fold lane";
  return item.depth > 1 ? [{ label, keys: "Z", run: () => store.lanes.foldLane(item) }] : [];
}

function laneEntries(item: LaneItem, store: Store, actions: Actions): Entry[] {
  return [
    { label: "Zoom to lane", run: () => actions.showLane(item) },
    { label: "Copy lane name", run: () => actions.copy(store.drawn.lanes[item.lane].lane) },
    ...foldEntries(item, store),
    { label: item.pinned ? "Unpin lane" : "Pin lane to the top", run: () => store.lanes.pin(item.key) },
    { label: "Hide lane", run: () => store.lanes.hide(item.key) },
  ];
}

function otherEntries(item: Exclude<Item, LaneItem>, store: Store, actions: Actions): Entry[] {
  const isGroup = item.type === "group";
  const name = isGroup ? (item as GroupItem).path : trackName(item);
  return [
    { label: "Copy name", run: () => actions.copy(name) },
    ...(isGroup
      ? [{ label: item.collapsed ? "Unfold" : "Fold", keys: "Z", run: () => store.lanes.fold(item.key) }]
      : []),
    ...(item.type === "bars" ? foldEntries(item, store) : []),
    { label: "Hide", run: () => store.lanes.hide(item.key) },
  ];
}
