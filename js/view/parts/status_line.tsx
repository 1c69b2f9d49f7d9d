/** The line at the bottom: the legend, how sure the figures are, and hints or a message. */

import { useRef } from "preact/hooks";
import type { Actions } from "../../input/actions";
import { isolated } from "../../model/format/bidi";
import { meaningOf } from "../../model/glossary";
import { categoryColour, categoryLabel, waitColour } from "../../model/paint/palette";
import { filterProblem } from "../../model/search/hint";
import { parseQuery } from "../../model/search/query";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { TENSOR_COLOURS } from "../canvas/tensors";

const PREDICTED =
  "Times are predicted, not recorded: rules under the lanes are dashed, and so are outlines of events whose durations differ from the recorded ones";

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
  const entries = stores.flatMap(({ painting }) => painting.paints.legend);
  const legend = [...new Map(entries.map((entry) => [entry.label, entry])).values()];
  const isByKind = store.host.get("color_by") === "kind";
  const wait = isByKind ? waitColour(store.painting.theme) : "var(--muted)";
  return (
    <div class="status">
      <span class="legend" role="group" aria-label="Legend">
        {legend.map((entry) => {
          const query = entry.category
            ? `kind:${entry.category}`
            : store.host.get("color_by") === "op"
              ? `op:${entry.label}`
              : "";
          const text = (
            <>
              <i class="swatch" style={{ background: entry.css }} />
              {entry.label}
            </>
          );
          return query ? (
            <button
              key={entry.label}
              type="button"
              title={highlightTitle(entry.label, entry.category)}
              aria-pressed={store.searchText === query}
              onClick={() => store.setSearch(store.searchText === query ? "" : query)}
            >
              {text}
            </button>
          ) : (
            <span key={entry.label} title={entry.label}>
              {text}
            </span>
          );
        })}
        {stores.some(({ lanes }) => lanes.tensors) &&
          TENSOR_COLOURS.map((name) => (
            <span key={name} title={meaningOf(categoryLabel(name))}>
              <i class="swatch" style={{ background: categoryColour(name, store.painting.theme) }} />
              {categoryLabel(name)}
            </span>
          ))}
        {stores.some(({ drawn }) => drawn.wait) && (
          <span title="Time spent waiting">
            <i
              class="swatch"
              style={{
                background: `repeating-linear-gradient(135deg, ${wait} 0 2px, color-mix(in srgb, ${wait} 40%, var(--ground)) 2px 4px)`,
              }}
            />
            waiting
          </span>
        )}
        {stores.some(({ drawn }) => drawn.predicted) && (
          <span title={PREDICTED}>
            <i class="swatch" style={{ border: "1px dashed var(--text)" }} />
            predicted
          </span>
        )}
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

function highlightTitle(label: string, category?: string): string {
  // Only categories are words of ours: an op of the trace may be called anything.
  const meaning = category && meaningOf(label);
  return [`Highlight ${isolated(label)}`, meaning].filter(Boolean).join("\n");
}
