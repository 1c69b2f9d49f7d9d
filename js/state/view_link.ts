/** Links to views of a page that has an address of its own. */

import { isolated } from "../model/format/bidi";
import { formatNumber } from "../model/format/units";
import { laneKey } from "../model/lanes/layout";
import type { SavedView } from "../model/view";
import { linkTo, viewIn } from "../model/view_link";
import type { Store } from "./store";
import { isOf, keys, savedView, showSaved } from "./view";

/** More lanes are counted rather than named. */
const MOST_NAMED = 2;
/** Keys of groups by kind and of tracks; what tracks there are is not known yet when the page opens. */
const NO_LANE = /^(kind:|own:|(memory|tensors|counter|bars)\0)/;

/** Why there are no links here; empty where there are. */
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
    const view = viewIn(location.hash);
    if (view === undefined) return;
    if (view === null) {
      hint("The link is damaged: the view that it leads to cannot be read");
      return;
    }
    const step = run.steps.find(({ step }) => step === view.step);
    const { start, end } = step ?? { start: 0, end: run.span };
    if (view.start > end || view.end < start) {
      hint(`The link's times are outside of this ${step ? "step" : "trace"}`);
      return;
    }
    const lacking = lacks(store, view);
    showSaved(store, view);
    if (lacking.length) hint(`Not in this trace, so left out: ${lacking.join(", ")}`);
  };
  follow();
  addEventListener("hashchange", follow, { signal: store.signal });
}

/** What a link names that this trace lacks. */
function lacks(store: Store, { step, hidden, pinned, selection }: SavedView): string[] {
  const { lanes, steps } = store.run;
  const known = new Set(lanes.flatMap((lane) => [lane.task, `${lane.task}\0${lane.device}`, laneKey(lane)]));
  const others = keys([...hidden, ...pinned]).filter((key) => !known.has(key) && !NO_LANE.test(key));
  const more = others.length - MOST_NAMED;
  return [
    step !== null && !steps.some((each) => each.step === step) && `step ${step}`,
    ...others.slice(0, MOST_NAMED).map((key) => `lane ${isolated(key.replaceAll("\0", " ").trim())}`),
    more > 0 && formatNumber(more, "more lane"),
    !isOf(store, selection) && "the selection",
  ].filter((part) => part !== false);
}

/** Give the page the address of the present view, and return it. */
export function addressOfView(store: Store): string {
  location.replace(linkTo(savedView(store)));
  return location.href;
}
