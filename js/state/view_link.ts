/** Links to views of a page that has an address of its own. */

import { isolated } from "../model/format/bidi";
import { formatNumber } from "../model/format/units";
import { laneKey } from "../model/lanes/layout";
import type { SavedView } from "../model/view";
import { linkTo, viewIn } from "../model/view_link";
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
  return isPage && !host.pair
    ? ""
    : "Links lead to exported pages: export this one, open it and copy the link there";
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
