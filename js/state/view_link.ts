/** Links to views of a page that has an address of its own. */

import { isolated } from "../model/format/bidi";
import { formatNumber } from "../model/format/units";
import { laneKey } from "../model/lanes/layout";
import type { Selection } from "../model/types";
import { COLOURINGS, GROUPINGS, PANES, type SavedView } from "../model/view";
import type { Store } from "./store";
import { isOf, savedView, showSaved } from "./view";

/** More lanes are counted rather than named. */
const MOST_NAMED = 2;
/** Letters of the name of a part of a link, which can be anything. */
const MOST_LETTERS = 20;
/** Keys of groups by kind and of tracks; what tracks there are is not known yet when the page opens. */
const NO_LANE = /^(kind:|own:|(memory|tensors|counter|bars)\0)/;

/** The last address made here: the page shows its view, or aligned steps, which have no view. */
let made = "";

/** Why the view has no link; empty if it has. */
export function whyNoLink({ host }: Store): string {
  // A notebook's frame has no address, and a notebook's own leads to no widget.
  const isPage = OWNS_PAGE && /^(file|https?):/.test(location.href) && host.exports.includes("html");
  return isPage && !host.pair ? "" : "Links lead to exported pages: export this one and copy the link there";
}

/** Show the view that the address names, now and whenever it names another one. */
export function followLinks(store: Store, hint: (text: string) => void): void {
  if (whyNoLink(store)) return;
  const { run } = store;
  const follow = () => {
    const isMade = location.hash === made;
    made = "";
    if (isMade) return;
    const view = viewIn(location.hash);
    if (view === undefined) return;
    if (typeof view === "string") {
      const part = isolated(view.slice(0, MOST_LETTERS));
      hint(`The link is damaged (invalid ${part || "end"}): nothing of its view is applied`);
      return;
    }
    const step = run.steps.find(({ step }) => step === view.step);
    const { start, end } = step ?? { start: 0, end: run.span };
    if (view.start > end || view.end < start) {
      hint(`The link's times are outside of this ${step ? "step" : "trace"}`);
      return;
    }
    const known = new Set(
      run.lanes.flatMap((lane) => [lane.task, `${lane.task}\0${lane.device}`, laneKey(lane)]),
    );
    const isHere = (lane: string[]) => known.has(lane.join("\0")) || NO_LANE.test(lane.join("\0"));
    const lacking = lacks(store, view, isHere);
    showSaved(store, {
      ...view,
      hidden: view.hidden.filter(isHere),
      pinned: view.pinned.filter(isHere),
    });
    if (lacking.length) hint(`Not in this trace, so left out: ${lacking.join(", ")}`);
  };
  follow();
  addEventListener("hashchange", follow, { signal: store.signal });
}

/** Settings of a link that this trace lacks. */
function lacks(store: Store, view: SavedView, isHere: (lane: string[]) => boolean): string[] {
  const { step, selection } = view;
  const others = [...view.hidden, ...view.pinned].filter((lane) => !isHere(lane));
  const more = others.length - MOST_NAMED;
  return [
    step !== null && !store.run.steps.some((each) => each.step === step) && `step ${step}`,
    ...others.slice(0, MOST_NAMED).map((lane) => `lane ${isolated(lane.filter(Boolean).join(" "))}`),
    more > 0 && formatNumber(more, "more lane"),
    !isOf(store, selection) && "the selection",
  ].filter((part) => part !== false);
}

/** Give the page the address of the present view, and return it. */
export function addressOfView(store: Store): string {
  location.replace(linkTo(savedView(store)));
  made = location.hash;
  return location.href;
}

/** More selected events are left out of a link. */
const MOST_EVENTS = 100;
const MOST_TEXT = 20_000;
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
    if (hash.length > MOST_TEXT) return at;
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
