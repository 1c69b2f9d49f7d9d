/** A view as the end of an address, such as `#view=2000000..3000000;group=kind;events=12`: anybody can write one. */

import type { Selection } from "./types";
import { COLOURINGS, GROUPINGS, PANES, type SavedView } from "./view";

/** More selected events are left out of a link. */
const MOST_EVENTS = 100;
const MOST_LETTERS = 20_000;
const NAME = "#view=";

const rangeText = (start: number, end: number) => `${Math.floor(start)}..${Math.ceil(end)}`;
const lanesText = (lanes: readonly string[][]) =>
  lanes.map((lane) => lane.map(encodeURIComponent).join("/")).join();

/** The link to a view; what is as in a new timeline is left out. */
export function linkTo(view: SavedView): string {
  const { selection, step, group_by, color_by, lane_filter, hidden, pinned } = view;
  const panes = PANES.filter((pane) => view[pane]).join();
  const parts = [rangeText(view.start, view.end)];
  const add = (name: string, text: string, usual = "") => {
    if (text !== usual) parts.push(`${name}=${text}`);
  };
  add("step", `${step ?? ""}`);
  add("panes", panes, "details");
  add("group", group_by, GROUPINGS[0]);
  add("color", color_by, COLOURINGS[0]);
  add("filter", encodeURIComponent(lane_filter));
  add("hide", lanesText(hidden));
  add("pin", lanesText(pinned));
  if (selection && "events" in selection && selection.events.length <= MOST_EVENTS)
    add("events", selection.events.join());
  if (selection && "start" in selection) {
    add("range", rangeText(selection.start, selection.end));
    add("lanes", selection.lanes?.join() ?? "");
  }
  return NAME + parts.join(";");
}

/** The view that an address ends with; undefined where it names none, null where it cannot be read. */
export function viewIn(hash: string): SavedView | null | undefined {
  if (!hash.startsWith(NAME)) return undefined;
  try {
    return hash.length > MOST_LETTERS ? null : read(hash.slice(NAME.length));
  } catch {
    return null;
  }
}

/** Throws an Error at whatever `linkTo` does not write. */
function read(text: string): SavedView {
  const [times, ...rest] = text.split(";");
  const parts = new Map(rest.map((part) => part.split("=", 2) as [string, string]));
  const take = (name: string, usual = "") => {
    const found = parts.get(name) ?? usual;
    parts.delete(name);
    return found;
  };
  const panes = new Set(list(take("panes", "details")).map((pane) => oneOf(PANES, pane)));
  const step = take("step");
  const view: SavedView = {
    ...rangeOf(times),
    step: step ? whole(step) : null,
    details: panes.has("details"),
    graph: panes.has("graph"),
    code: panes.has("code"),
    group_by: oneOf(GROUPINGS, take("group", GROUPINGS[0])),
    color_by: oneOf(COLOURINGS, take("color", COLOURINGS[0])),
    lane_filter: decodeURIComponent(take("filter")),
    hidden: lanesOf(take("hide")),
    pinned: lanesOf(take("pin")),
    selection: null,
  };
  view.selection = selectionOf(take("events"), take("range"), take("lanes"), view.step);
  if (parts.size) throw new Error("unknown part");
  return view;
}

function selectionOf(events: string, range: string, lanes: string, step: number | null): Selection | null {
  if (events) return { events: list(events).map(whole) };
  return range ? { ...rangeOf(range), lanes: lanes ? list(lanes).map(whole) : null, step } : null;
}

const list = (text: string) => (text ? text.split(",") : []);
const lanesOf = (text: string) => list(text).map((lane) => lane.split("/").map(decodeURIComponent));

function whole(text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw new Error("no number");
  return Number(text);
}

function rangeOf(text: string): { start: number; end: number } {
  const [start, end, ...more] = text.split("..").map(whole);
  if (!(start < end) || more.length) throw new Error("no range");
  return { start, end };
}

function oneOf<T extends string>(values: readonly T[], text: string): T {
  const found = values.find((value) => value === text);
  if (!found) throw new Error("unknown value");
  return found;
}
