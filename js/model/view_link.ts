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

/** The link to a view, without the settings that equal a new timeline's. */
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

/** The view that an address ends with; undefined if it has none, else the unreadable part. */
export function viewIn(hash: string): SavedView | string | undefined {
  if (!hash.startsWith(NAME)) return undefined;
  const [times, ...rest] = hash.slice(NAME.length).split(";");
  const parts = new Map([["times", times], ...rest.map((part) => part.split("=", 2) as [string, string])]);
  // The part that is being read.
  let at = "length";
  const take = <T>(name: string, parse: (text: string) => T, usual = ""): T => {
    at = name;
    const found = parse(parts.get(name) ?? usual);
    parts.delete(name);
    return found;
  };
  try {
    if (hash.length > MOST_LETTERS) return at;
    const range = take("times", rangeOf);
    const panes = take("panes", (text) => list(text).map((pane) => oneOf(PANES, pane)), "details");
    const step = take("step", (text) => (text ? whole(text) : null));
    const view: SavedView = {
      ...range,
      step,
      details: panes.includes("details"),
      graph: panes.includes("graph"),
      code: panes.includes("code"),
      group_by: take("group", (text) => oneOf(GROUPINGS, text), GROUPINGS[0]),
      color_by: take("color", (text) => oneOf(COLOURINGS, text), COLOURINGS[0]),
      lane_filter: take("filter", decodeURIComponent),
      hidden: take("hide", lanesOf),
      pinned: take("pin", lanesOf),
      selection: null,
    };
    const events = take("events", numbers);
    const times = take("range", (text) => text && rangeOf(text));
    const lanes = take("lanes", numbers);
    const selection: Selection | null = times ? { ...times, lanes: lanes.length ? lanes : null, step } : null;
    view.selection = events.length ? { events } : selection;
    const [unknown] = parts.keys();
    return unknown ?? view;
  } catch {
    return at;
  }
}

const list = (text: string) => (text ? text.split(",") : []);
const numbers = (text: string) => list(text).map(whole);
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
