/** The frame around two compared timelines: the headline, one toolbar, one legend, and details of either. */

import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { runKey } from "../../input/keyboard";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import type { OwnKeys } from "../../ui/own_keys";
import { CodePane } from "../code/pane";
import { DetailsPanel } from "../details/panel";
import { RangePane } from "../details/range_pane";
import { GraphPane } from "../graph/pane";
import type { Mounted } from "../mount";
import { ExportMenu } from "../parts/export_menu";
import { Help } from "../parts/help";
import { SearchBox } from "../parts/search_box";
import { DetailsSplitter } from "../parts/skeleton";
import { StatusLine } from "../parts/status_line";
import { Controls } from "../parts/toolbar";
import { Differences } from "./differences";

interface AroundProps {
  /** How much faster or slower the lower one is, and in what. */
  headline: readonly string[];
  /** Holds the panes of both. */
  both: HTMLElement;
  panes: readonly HTMLElement[];
  /** The timelines that could be shown; empty until they are. */
  shown: readonly Mounted[];
  root: HTMLElement;
  keys: OwnKeys;
}

export function Around({ headline, both, panes, shown, root, keys }: AroundProps) {
  const [used, setUsed] = useState(0);
  // The details are of the timeline that was used last; the other one may follow its selection.
  useEffect(() => {
    const listening = new AbortController();
    const options = { capture: true, signal: listening.signal };
    panes.forEach((pane, side) => {
      for (const kind of ["pointerdown", "keydown"])
        pane.addEventListener(kind, () => setUsed(side), options);
    });
    return () => listening.abort();
  }, []);
  const current = shown[used] ?? shown[0];
  useLayoutEffect(() => {
    if (!current) return;
    keys.home = () => current.lanes;
    keys.press = (event, where) => runKey(event, current.actions, where);
  }, [current]);
  return (
    <>
      <Headline sentences={headline} />
      {current && <Toolbar {...{ headline, shown, current, root }} />}
      <div class="body">
        <div class="column">
          <div
            class="panes"
            ref={(place) => {
              if (place?.firstChild !== both) place?.append(both);
            }}
          />
          {current && <RangePane key={shown.indexOf(current)} {...current} />}
          {current && <GraphPane key={shown.indexOf(current)} {...{ ...current, root }} />}
          {current && <CodePane key={shown.indexOf(current)} {...current} />}
        </div>
        <DetailsSplitter />
        {current && <Details {...{ shown, current, setUsed }} />}
      </div>
      {current && (
        <StatusLine
          store={current.store}
          stores={shown.map(({ store }) => store)}
          isMac={/mac/i.test(navigator.platform)}
        />
      )}
      {shown.map(({ store }) => (
        <Help key={store.drawn.title} store={store} />
      ))}
    </>
  );
}

function Headline({ sentences }: { sentences: readonly string[] }) {
  if (sentences.length === 0) return null;
  const [first, ...rest] = sentences;
  return (
    <h2 class="verdict">
      {first} {rest.length > 0 && <span>{rest.join(" ")}</span>}
    </h2>
  );
}

interface ShownProps {
  shown: readonly Mounted[];
  current: Mounted;
}

function Toolbar({ shown, current, headline, root }: ShownProps & Pick<AroundProps, "headline" | "root">) {
  const { store, actions } = shown[0];
  const stores = shown.map((each) => each.store);
  const searched = useSearched(stores, stores.indexOf(current.store));
  const pictured = () => {
    const roots = [...root.querySelectorAll(".tfvis-timeline")].flatMap(
      (pane) => pane.shadowRoot?.querySelector<HTMLElement>(".tfv[data-drawn]") ?? [],
    );
    const timelines = roots.map((each, side) => ({ root: each, store: stores[side] }));
    return { headline: headline.join(" "), timelines };
  };
  return (
    <div class="toolbar">
      <SearchBox store={stores[searched]} actions={shown[searched].actions} />
      <span class="space" />
      <Controls
        {...{ store, actions, stores }}
        exports={<ExportMenu store={current.store} root={root} pictured={pictured} />}
      />
    </div>
  );
}

/** Whose matches are counted and gone to: those of the current side, unless only the other one has some. */
function useSearched(stores: readonly Store[], current: number): number {
  for (const store of stores) useTopics(store, ["search"]);
  const found = (side: number) => stores[side].matches?.count ?? 0;
  const other = stores.findIndex((_, side) => side !== current);
  return other >= 0 && found(current) === 0 && found(other) > 0 ? other : current;
}

function Details({ shown, current, setUsed }: ShownProps & { setUsed: (side: number) => void }) {
  const { store, actions } = current;
  const side = shown.indexOf(current);
  useTopics(store, ["panel"]);
  if (!store.panelOpen) return null;
  return (
    <div class="details-column">
      {shown.length > 1 && (
        <div class="segmented" role="group" aria-label="Details of">
          {shown.map((each, side) => (
            <button
              key={each.store.drawn.title}
              type="button"
              aria-pressed={each === current}
              title={each.store.drawn.title}
              onClick={() => setUsed(side)}
            >
              {"AB"[side]}
            </button>
          ))}
        </div>
      )}
      <DetailsPanel
        key={side}
        {...{ store, actions }}
        before={shown.length > 1 && <Differences stores={shown.map((each) => each.store)} side={side} />}
      />
    </div>
  );
}
