/** The line at the bottom: the legend, how sure the figures are, and hints or a message. */

import { useRef } from "preact/hooks";
import type { Actions } from "../../input/actions";
import { isolated } from "../../model/format/bidi";
import { meaningOf } from "../../model/glossary";
import { waitColour } from "../../model/paint/palette";
import { filterProblem } from "../../model/search/hint";
import { parseQuery } from "../../model/search/query";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { legendOf } from "../canvas/legend";

interface StatusLineProps {
  store: Store;
  actions: Actions;
  isMac: boolean;
  /** All whose colours the legend explains. */
  stores?: readonly Store[];
}

export function StatusLine({ store, actions, isMac, stores = [store] }: StatusLineProps) {
  useTopics(store, ["panel", "layout", "notice", "search"]);
  useTopics(store, ["viewport", "selection"], () => store.selection !== null || store.history.isUsed);
  for (const each of stores) useTopics(each, ["paint"]);
  // Shown at the lanes, to those who have neither zoomed nor selected yet.
  const isUsed = useRef(false);
  isUsed.current ||= store.selection !== null || store.history.isUsed;
  const hint = filterProblem(parseQuery(store.searchText), store.matches?.ids.length !== 0);
  const colorBy = store.host.get("color_by");
  const isByOp = colorBy === "op";
  const wait = colorBy === "kind" ? waitColour(store.painting.theme) : "var(--muted)";
  const hatched = `repeating-linear-gradient(135deg, ${wait} 0 2px, color-mix(in srgb, ${wait} 40%, var(--ground)) 2px 4px)`;
  return (
    <div class="status">
      <span class="legend" role="group" aria-label="Legend">
        {legendOf(stores).map(({ label, css, activity, meaning }) => {
          const query = activity ? `kind:${activity}` : isByOp && css && !meaning ? `op:${label}` : "";
          const text = (
            <>
              <i
                class="swatch"
                style={css === "" ? { border: "1px dashed var(--text)" } : { background: css ?? hatched }}
              />
              {label}
            </>
          );
          return query ? (
            <button
              key={`${css} ${label}`}
              type="button"
              title={highlightTitle(label, activity)}
              aria-pressed={store.searchText === query}
              onClick={() => store.setSearch(store.searchText === query ? "" : query)}
            >
              {text}
            </button>
          ) : (
            <span key={`${css} ${label}`} title={meaning ?? label}>
              {text}
            </span>
          );
        })}
      </span>
      <button
        type="button"
        title="Clocks, tracing overhead, what was not recorded, and repairs"
        onClick={() => actions.showOverview({ isAskedForNotes: true })}
      >
        How sure is this?
      </button>
      {store.failure ? (
        <span class="failed" role="alert">
          {store.failure}
        </span>
      ) : hint ? (
        <span class="failed" role="status" title={hint}>
          {hint}
        </span>
      ) : store.notice ? (
        <span class="notice" role="status">
          {store.notice.text}
        </span>
      ) : (
        !isUsed.current && (
          <span class="hints">
            <kbd>{isMac ? "⌘" : "Ctrl"}</kbd> wheel zooms · drag selects · <kbd>W</kbd> <kbd>A</kbd>{" "}
            <kbd>S</kbd> <kbd>D</kbd> moves · <kbd>?</kbd> all keys
          </span>
        )
      )}
    </div>
  );
}

function highlightTitle(label: string, activity?: string): string {
  // Only activities are words of ours: an op of the trace may be called anything.
  const meaning = activity && meaningOf(label);
  return [`Highlight ${isolated(label)}`, meaning].filter(Boolean).join("\n");
}
