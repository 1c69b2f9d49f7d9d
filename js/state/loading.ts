/** Loading after the first picture: the details, and the rest of a trace that starts as an outline. */

import { formatCount } from "../model/format/units";
import type { Outline } from "../model/lod/outline";
import { readDrawn } from "../model/wire/bars";
import { readDetails } from "../model/wire/details";
import { LargeTrace } from "./large_trace";
import type { Navigation } from "./navigation";
import type { Store } from "./store";

const message = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** Fetch it; `outline` is the coarse picture drawn first, null if everything was drawn. */
export function loadRest(store: Store, outline: Outline | null, navigation: Navigation): void {
  if (HAS_KERNEL) store.host.watchTrouble?.(() => store.emit("panel"), store.signal);
  if (!HAS_KERNEL || !outline) loadDetails(store, store.host.details(store.signal));
  else if (outline.described.rest !== "chunks") new LargeTrace(store, outline, navigation, store.signal);
  else loadChunks(store, outline, navigation);
}

function loadDetails(store: Store, bytes: Promise<Uint8Array>): void {
  bytes
    .then((details) => readDetails(details, store.drawn))
    .then((details) => {
      if (store.signal.aborted) return;
      store.setDetails(details);
      showLateTask(store);
    })
    .catch((error: unknown) => {
      store.failDetails(`The details cannot be shown: ${message(error)}`);
    });
}

/** Scroll to the lanes of the task that the headline names, unless the user has begun to look elsewhere. */
function showLateTask(store: Store): void {
  const task = store.details?.overview?.task;
  const { drawn, scroll, height, selection, hover, lanes } = store;
  if (!task || scroll || selection || hover !== null || lanes.pinned.length) return;
  const isOf = (lane: number) => drawn.lanes[lane].task === task;
  const own = store.arrangement.items.filter((item) =>
    item.type === "lane" ? isOf(item.lane) : item.type === "group" && item.lanes.every(isOf),
  );
  if (!own.length) return;
  const last = own[own.length - 1];
  store.scrollTo(Math.min(own[0].y, last.y + last.height - height));
}

/** The outline serves, as that of a larger trace would, until everything is here. */
function loadChunks(store: Store, outline: Outline, navigation: Navigation): void {
  const { host, signal } = store;
  const meanwhile = new AbortController();
  signal.addEventListener("abort", () => meanwhile.abort());
  const large = new LargeTrace(store, outline, navigation, meanwhile.signal);
  const shown = `${formatCount(outline.entries.length)} of ${formatCount(outline.total)}`;
  const progress = (done: number, total: number) =>
    large.requests.notice({ text: `Showing ${shown} events, loading …`, part: done / total });
  progress(0, 1);
  const drawn = host.rest("drawn", progress, signal);
  // Asked for at once: the kernel may be busy by the time the first answer is here.
  const details = host.rest("details", () => {}, signal);
  const whole = drawn.then(readDrawn).then((all) => {
    if (signal.aborted) return;
    meanwhile.abort();
    store.remote = null;
    store.replace(all, null);
    store.setNotice(null);
  });
  whole.catch((error: unknown) => {
    large.requests.notice(null);
    store.fail(`The trace could not be loaded: ${message(error)}`);
  });
  loadDetails(
    store,
    whole.then(() => details),
  );
}
